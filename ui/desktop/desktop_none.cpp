// A desktop without D-Bus: the window does without its services.
#include <QStringList>

#include "ui/desktop/desktop_integration.h"

namespace lathe::ui {
namespace {

class NoDesktop : public DesktopIntegration {
 public:
  using DesktopIntegration::DesktopIntegration;
  void notify(const Notification&) override {}
  void set_progress(std::optional<double>) override {}
  void inhibit_sleep(const QString&) override {}
  void release_sleep() override {}
  bool sleep_inhibited() const override { return false; }
  std::optional<bool> prefers_dark() const override { return std::nullopt; }
  QStringList abilities() const override { return {tr("Desktop services: none in this build (no QtDBus)")}; }
};

}  // namespace

std::unique_ptr<DesktopIntegration> make_desktop_integration() {
  return std::make_unique<NoDesktop>();
}

}  // namespace lathe::ui
