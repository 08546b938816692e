// The whole window in a test.
#pragma once

#include "tests/ui/ui_support.h"
#include "ui/main_window.h"

namespace lathe::ui {

// Shows the window; whether it became usable.
inline bool show_until_usable(MainWindow& window) {
  bool usable = false;
  const auto connection =
      QObject::connect(&window, &MainWindow::usable, &window, [&usable] { usable = true; });
  window.show();
  const bool done = wait_until([&] { return usable; }, 60'000);
  QObject::disconnect(connection);
  return done;
}

}  // namespace lathe::ui
