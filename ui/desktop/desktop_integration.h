// What the desktop does for the window: notifications, progress on the task bar, no sleep while training,
// light or dark. Every call is a request; a system without the service ignores it.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

class QWindow;

namespace lathe::ui {

struct Notification {
  QString title;
  QString text;
  bool urgent = false;
};

class DesktopIntegration : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  virtual void notify(const Notification& notification) = 0;
  // Fraction of the run's work done; nullopt clears it.
  virtual void set_progress(std::optional<double> fraction) = 0;
  // Keeps the computer awake until released; `reason` is shown by the system.
  virtual void inhibit_sleep(const QString& reason) = 0;
  virtual void release_sleep() = 0;
  virtual bool sleep_inhibited() const = 0;
  // Whether the desktop asks for dark windows; nullopt: it doesn't say.
  virtual std::optional<bool> prefers_dark() const = 0;
  // What of this works here, for System: "Notifications: yes, through D-Bus".
  virtual QStringList abilities() const = 0;

 Q_SIGNALS:
  void appearance_changed();
};

// The desktop this process runs on.
std::unique_ptr<DesktopIntegration> make_desktop_integration();

}  // namespace lathe::ui
