// A desktop that only writes down what it was asked for: for tests.
#pragma once

#include <vector>

#include "ui/desktop/desktop_integration.h"

namespace lathe::ui {

class RecordingDesktop : public DesktopIntegration {
  Q_OBJECT
 public:
  using DesktopIntegration::DesktopIntegration;

  void notify(const Notification& notification) override { notifications.push_back(notification); }
  void set_progress(std::optional<double> fraction) override { progress = fraction; }
  void inhibit_sleep(const QString& reason) override { inhibition = reason; }
  void release_sleep() override { inhibition.reset(); }
  bool sleep_inhibited() const override { return inhibition.has_value(); }
  std::optional<bool> prefers_dark() const override { return dark; }
  QStringList abilities() const override;

  void set_prefers_dark(std::optional<bool> value);

  std::vector<Notification> notifications;
  std::optional<double> progress;
  std::optional<QString> inhibition;
  std::optional<bool> dark;
};

}  // namespace lathe::ui
