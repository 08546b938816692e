#include "ui/desktop/recording_desktop.h"

#include <QStringList>

namespace lathe::ui {

QStringList RecordingDesktop::abilities() const {
  return {tr("Desktop services: recorded")};
}

void RecordingDesktop::set_prefers_dark(std::optional<bool> value) {
  dark = value;
  Q_EMIT appearance_changed();
}

}  // namespace lathe::ui
