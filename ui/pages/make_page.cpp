#include "ui/pages/make_page.h"

#include "ui/pages/data_page.h"
#include "ui/pages/help_page.h"
#include "ui/pages/new_page.h"
#include "ui/pages/run_page.h"
#include "ui/pages/runs_page.h"
#include "ui/pages/system_page.h"

namespace lathe::ui {

Page* make_page(AppContext& context, Place place, QWidget* parent) {
  switch (place) {
    case Place::New:
      return new NewPage(context, parent);
    case Place::Run:
      return new RunPage(context, parent);
    case Place::Runs:
      return new RunsPage(context, parent);
    case Place::Data:
      return new DataPage(context, parent);
    case Place::System:
      return new SystemPage(context, parent);
    case Place::Help:
      return new HelpPage(context, parent);
  }
  return nullptr;
}

}  // namespace lathe::ui
