#include "ui/appearance.h"

#include "ui/desktop/desktop_integration.h"
#include "ui/preferences.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

bool wants_dark(const Preferences& preferences, const DesktopIntegration& desktop) {
  switch (preferences.appearance()) {
    case Appearance::Light:
      return false;
    case Appearance::Dark:
      return true;
    case Appearance::System:
      return desktop.prefers_dark().value_or(false);
  }
  return false;
}

}  // namespace

void follow_appearance(const Preferences& preferences, const DesktopIntegration& desktop, Theme& theme) {
  const auto follow = [&preferences, &desktop, &theme] { theme.set_dark(wants_dark(preferences, desktop)); };
  follow();
  QObject::connect(&preferences, &Preferences::changed, &theme, follow);
  QObject::connect(&desktop, &DesktopIntegration::appearance_changed, &theme, follow);
}

}  // namespace lathe::ui
