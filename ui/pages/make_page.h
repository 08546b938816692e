// The page of each place.
#pragma once

#include "ui/pages/page.h"

namespace lathe::ui {

// A new page, owned by the caller; the window calls it once a place.
Page* make_page(AppContext& context, Place place);

}  // namespace lathe::ui
