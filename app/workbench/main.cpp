// lathe-workbench: puts the window together and runs it.
#include <CLI/CLI.hpp>
#include <QApplication>
#include <QLocale>
#include <QMessageBox>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "app/common/backends.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/appearance.h"
#include "ui/desktop/desktop_integration.h"
#include "ui/devices.h"
#include "ui/main_window.h"
#include "ui/navigator.h"
#include "ui/own_session.h"
#include "ui/pages/make_page.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"

namespace {

using namespace lathe;

struct Arguments {
  std::filesystem::path home;
  bool time_start = false;
};

int run(QApplication& application, const Arguments& arguments, double start_seconds) {
  // Fails here, before there is a window, when the folder can't hold a history: the message says what to do.
  std::filesystem::create_directories(arguments.home);
  ui::Preferences preferences(arguments.home);
  const std::unique_ptr<ui::DesktopIntegration> desktop = ui::make_desktop_integration();
  ui::Theme theme;
  ui::follow_appearance(preferences, *desktop, theme);

  ui::Devices devices;
  ui::OwnSession session(arguments.home, devices.registry());
  ui::Navigator navigator;
  ui::AlertList alerts;
  ui::AppContext context{arguments.home,
                         devices,
                         devices.registry(),
                         [home = arguments.home] { return std::make_unique<HistoryStore>(home); },
                         preferences,
                         theme,
                         navigator,
                         session,
                         alerts,
                         *desktop};
  ui::MainWindow window(context, ui::make_page);
  if (arguments.time_start) {
    QObject::connect(&window, &ui::MainWindow::first_painted, &application, [start_seconds] {
      std::printf("first paint %.0f ms\n", (monotonic_seconds() - start_seconds) * 1e3);
    });
    QObject::connect(&window, &ui::MainWindow::usable, &application, [&application, start_seconds] {
      std::printf("usable %.0f ms\n", (monotonic_seconds() - start_seconds) * 1e3);
      application.quit();
    });
  }
  window.show();
  devices.check([] { return make_backends(); }, [] { return make_cpu_backends(); });
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  const double start_seconds = monotonic_seconds();
  Arguments arguments;
  std::string home;
  CLI::App options{"Lathe's window: configure a run, watch it, compare runs."};
  options.name("lathe-workbench");
  options.set_version_flag("--version", "lathe-workbench " LATHE_VERSION);
  options
      .add_option("--home", home,
                  "Folder of history, runs and preferences (default: the platform's data folder)")
      ->envname("LATHE_HOME");
  options.add_flag("--time-start", arguments.time_start, "Print how long the start took, and quit");
  // Qt's own options (-platform, -style) go on to it.
  options.allow_extras();
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return options.exit(error) == 0 ? 0 : 2;
  }
  try {
    arguments.home = home.empty() ? default_home() : std::filesystem::absolute(from_utf8(home));
    // Qt reads the factor when the application object is made.
    if (const double scale = ui::stored_scale(arguments.home);
        scale != 1.0 && qEnvironmentVariableIsEmpty("QT_SCALE_FACTOR")) {
      qputenv("QT_SCALE_FACTOR", QByteArray::number(scale));
    }
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("Lathe"));
    QApplication::setApplicationVersion(QStringLiteral(LATHE_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("lathe-workbench"));
    try {
      return run(application, arguments, start_seconds);
    } catch (const std::exception& error) {
      QMessageBox::critical(nullptr, QStringLiteral("Lathe"), QString::fromUtf8(error.what()));
      return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lathe-workbench: %s\n", error.what());
    return 1;
  }
}
