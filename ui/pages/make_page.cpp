#include "ui/pages/make_page.h"

#include "ui/pages/data_page.h"
#include "ui/pages/help_page.h"
#include "ui/pages/new_page.h"
#include "ui/pages/run_page.h"
#include "ui/pages/runs_page.h"
#include "ui/pages/system_page.h"

namespace lathe::ui {

Page* make_page(AppContext& context, Place place) {
  switch (place) {
    case Place::New:
      return new NewPage(context);
    case Place::Run:
      return new RunPage(context);
    case Place::Runs:
      return new RunsPage(context);
    case Place::Data:
      return new DataPage(context);
    case Place::System:
      return new SystemPage(context);
    case Place::Help:
      return new HelpPage(context);
  }
  return nullptr;
}

}  // namespace lathe::ui
