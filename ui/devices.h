// What this machine can train on. Drivers are asked on a worker thread, so that the window is there at once;
// until they have answered the registry is empty and Launch says "checking GPU…".
#pragma once

#include <QObject>
#include <functional>

#include "kernels/api/backend.h"
#include "ui/latest_job.h"

namespace lathe::ui {

class Devices : public QObject {
  Q_OBJECT
 public:
  explicit Devices(QObject* parent = nullptr);

  // `make` runs on the worker. Call once.
  void check(std::function<BackendRegistry()> make);
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

}  // namespace lathe::ui
