// Windows: the appearance from the registry, no sleep through the execution state of this thread.
// Notifications stay inside the window.
#include <windows.h>

#include <QSettings>
#include <QStringList>

#include "ui/desktop/desktop_integration.h"

namespace lathe::ui {
namespace {

class WindowsDesktop : public DesktopIntegration {
 public:
  using DesktopIntegration::DesktopIntegration;
  ~WindowsDesktop() override { WindowsDesktop::release_sleep(); }

  void notify(const Notification&) override {}
  void set_progress(std::optional<double>) override {}

  void inhibit_sleep(const QString&) override {
    inhibited_ = SetThreadExecutionState(ES_CONTINUOUS | ES_SYSTEM_REQUIRED) != 0;
  }
  void release_sleep() override {
    if (inhibited_) SetThreadExecutionState(ES_CONTINUOUS);
    inhibited_ = false;
  }
  bool sleep_inhibited() const override { return inhibited_; }

  std::optional<bool> prefers_dark() const override {
    const QSettings settings(
        QStringLiteral(
            "HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Themes\\Personalize"),
        QSettings::NativeFormat);
    const QVariant light = settings.value(QStringLiteral("AppsUseLightTheme"));
    return light.isValid() ? std::optional(light.toInt() == 0) : std::nullopt;
  }

  QStringList abilities() const override {
    return {tr("Notifications: inside the window"), tr("No sleep while training: yes"),
            tr("Light or dark: %1").arg(prefers_dark() ? tr("from Windows") : tr("not told by Windows"))};
  }

 private:
  bool inhibited_ = false;
};

}  // namespace

std::unique_ptr<DesktopIntegration> make_desktop_integration() {
  return std::make_unique<WindowsDesktop>();
}

}  // namespace lathe::ui
