// Renders every place in light and dark at three screens into a folder, for people to look at:
//   ui_pictures FOLDER [HOME]
// HOME is a home folder whose runs and datasets are shown; without one an empty home is made.
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QLocale>
#include <QPainter>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "app/common/backends.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/desktop/recording_desktop.h"
#include "ui/devices.h"
#include "ui/main_window.h"
#include "ui/navigator.h"
#include "ui/own_session.h"
#include "ui/pages/make_page.h"
#include "ui/pages/new_page.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"

namespace {

using namespace lathe;

struct Screen {
  const char* name;
  int width, height;  // physical pixels
  double scale;
};
constexpr Screen kScreens[] = {{"1024x640", 1024, 640, 1.0},
                               {"1366x768", 1366, 768, 1.0},
                               {"2560x1440", 2560, 1440, 1.5},
                               {"3840x2160", 3840, 2160, 2.0}};

void settle(int ms) {
  QElapsedTimer timer;
  timer.start();
  while (timer.elapsed() < ms) QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
  QApplication application(argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: ui_pictures FOLDER [HOME]\n");
    return 2;
  }
  QApplication::setApplicationVersion(QStringLiteral(LATHE_VERSION));
  const QString folder = QString::fromLocal8Bit(argv[1]);
  QDir().mkpath(folder);
  const TemporaryFolder empty("lathe_pictures");
  const std::filesystem::path home = argc > 2 ? std::filesystem::path(argv[2]) : empty.path();

  ui::Preferences preferences(home);
  ui::RecordingDesktop desktop;
  ui::Theme theme;
  ui::Devices devices;
  devices.set(make_cpu_backends());
  ui::OwnSession session(home, devices.registry());
  ui::Navigator navigator;
  ui::AlertList alerts;
  ui::AppContext context{
      home,        devices, devices.registry(), [home] { return std::make_unique<HistoryStore>(home); },
      preferences, theme,   navigator,          session,
      alerts,      desktop};
  ui::MainWindow window(context, ui::make_page);
  window.show();
  settle(1500);
  // The longest run in Run, the newest few over one another in Runs; an empty home has the sample runs by
  // now.
  const std::vector<RunSummary> runs = context.open_history()->list();
  if (!runs.empty()) {
    QStringList newest;
    for (size_t i = 0; i < std::min<size_t>(runs.size(), 4); ++i) newest << ui::to_qt(runs[i].id);
    window.page(ui::Place::Runs)->show_runs(newest);
    Q_EMIT navigator.open_run(ui::to_qt(std::ranges::max(runs, {}, &RunSummary::step).id));
    settle(500);
  }
  // The reference model against the card it is made for, as anyone can choose it.
  auto* page = static_cast<ui::NewPage*>(window.page(ui::Place::New));
  page->load_preset_named(QStringLiteral("977m"));
  page->devices().setCurrentIndex(page->devices().findText(QStringLiteral("RTX 5080"), Qt::MatchContains));
  page->document().set_text("optimizer.state", QStringLiteral("8bit"));
  for (const Screen& screen : kScreens) {
    window.resize(static_cast<int>(screen.width / screen.scale),
                  static_cast<int>(screen.height / screen.scale));
    for (const bool dark : {false, true}) {
      theme.set_dark(dark);
      for (int i = 0; i < ui::kPlaceCount; ++i) {
        const auto place = static_cast<ui::Place>(i);
        window.show_place(place);
        settle(place == ui::Place::New ? 1500 : 700);
        QImage image(screen.width, screen.height, QImage::Format_RGB32);
        image.setDevicePixelRatio(screen.scale);
        window.render(&image);
        const QString file =
            QStringLiteral("%1/%2_%3_%4.png")
                .arg(folder, QString::fromLatin1(screen.name),
                     dark ? QStringLiteral("dark") : QStringLiteral("light"), ui::place_icon(place));
        if (!image.save(file)) {
          std::fprintf(stderr, "can't write %s\n", qPrintable(file));
          return 1;
        }
      }
    }
  }
  return 0;
}
