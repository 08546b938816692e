// The page of each place.
#pragma once

#include "ui/pages/page.h"

namespace lathe::ui {

// A new page; the window calls it once a place. Made where it will stand: a page that moves to another parent
// has every widget of it styled again.
Page* make_page(AppContext& context, Place place, QWidget* parent);

}  // namespace lathe::ui
