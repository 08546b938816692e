// A window's surroundings for tests: a home of its own, a CPU, a desktop that only records.
#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>
#include <functional>
#include <memory>

#include "app/common/backends.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/desktop/recording_desktop.h"
#include "ui/devices.h"
#include "ui/navigator.h"
#include "ui/own_session.h"
#include "ui/preferences.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

// Runs the event loop until `done`, at most `ms`. Returns whether it came true.
inline bool wait_until(const std::function<bool()>& done, int ms = 10000) {
  QElapsedTimer timer;
  timer.start();
  while (!done() && timer.elapsed() < ms)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::AllEvents, 10);
  return done();
}

struct Surroundings {
  TemporaryFolder folder{"lathe_ui"};
  Preferences preferences{folder.path()};
  RecordingDesktop desktop;
  Theme theme;
  Devices devices;
  OwnSession session{folder.path(), devices.registry()};
  Navigator navigator;
  AlertList alerts;
  AppContext context{folder.path(),
                     devices,
                     devices.registry(),
                     [home = folder.path()] { return std::make_unique<HistoryStore>(home); },
                     preferences,
                     theme,
                     navigator,
                     session,
                     alerts,
                     desktop};
  QTimer heartbeat;  // keeps wait_until's event loop turning

  explicit Surroundings(bool with_cpu = true) {
    heartbeat.start(5);
    if (with_cpu) devices.set(make_cpu_backends());
  }
};

}  // namespace lathe::ui
