#include "ui/pages/page.h"

#include "ui/app_context.h"

namespace lathe::ui {

Page::Page(AppContext& context, Place place, QWidget* parent)
    : QWidget(parent), context_(context), place_(place) {
  setObjectName(place_icon(place) + QStringLiteral("_page"));
  setAccessibleName(place_title(place));
}

void Page::ask_for_help() {
  Q_EMIT context_.navigator.show_topic(place_topic(place_));
}

QString place_title(Place place) {
  switch (place) {
    case Place::New:
      return Page::tr("New");
    case Place::Run:
      return Page::tr("Run");
    case Place::Runs:
      return Page::tr("Runs");
    case Place::Data:
      return Page::tr("Data");
    case Place::System:
      return Page::tr("System");
    case Place::Help:
      return Page::tr("Help");
  }
  return {};
}

QString place_icon(Place place) {
  switch (place) {
    case Place::New:
      return QStringLiteral("new");
    case Place::Run:
      return QStringLiteral("run");
    case Place::Runs:
      return QStringLiteral("runs");
    case Place::Data:
      return QStringLiteral("data");
    case Place::System:
      return QStringLiteral("system");
    case Place::Help:
      return QStringLiteral("help");
  }
  return {};
}

QString place_topic(Place place) {
  return place_icon(place) == QLatin1String("help") ? QStringLiteral("index") : place_icon(place);
}

}  // namespace lathe::ui
