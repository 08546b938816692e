// What this machine can train on. Drivers are asked on a worker thread, so that the window is there at once;
// until they have answered the registry is empty and Launch says "checking GPU…".
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>

#include "kernels/api/backend.h"
#include "ui/latest_job.h"

namespace lathe::ui {

class Devices : public QObject {
  Q_OBJECT
 public:
  explicit Devices(QObject* parent = nullptr);

  // Runs `lathe doctor --probe cuda --quick` in a child process, so that a driver that crashes takes the
  // child and not the window, then `make` on the worker. When the child died, `make_safe` stands in and the
  // GPU's entry says so. Call once.
  void check(std::function<BackendRegistry()> make, std::function<BackendRegistry()> make_safe);
  // Takes a registry at once: for tests.
  void set(BackendRegistry registry);

  bool ready() const { return ready_; }
  // The same object before and after; changes once, on the GUI thread, just before ready_changed().
  const BackendRegistry& registry() const { return registry_; }

 Q_SIGNALS:
  void ready_changed();

 private:
  BackendRegistry registry_;
  bool ready_ = false;
  LatestJob job_;
};

// Runs the child and waits, at most 30 s. Empty: it answered; else what happened. A missing `lathe` is no
// reason against asking the driver.
QString probe_in_child(const QString& program, const QStringList& arguments);

}  // namespace lathe::ui
