// Pictures of Run and Runs in light and dark at three sizes of screen, to be looked at: into the folder
// LATHE_PICTURES, else thrown away. What can be asserted about a picture is: nothing is cut off.
#include <gtest/gtest.h>

#include <QDir>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <QThread>
#include <QToolButton>

#include "tests/ui/run_support.h"
#include "tests/ui/ui_support.h"
#include "ui/charts/chart.h"
#include "ui/main_window.h"
#include "ui/models/runs_model.h"
#include "ui/pages/make_page.h"
#include "ui/pages/run_chart_board.h"
#include "ui/pages/run_charts.h"
#include "ui/pages/run_page.h"
#include "ui/pages/run_tabs.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_page.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

struct Screen {
  const char* name;
  QSize logical;
  double scale;
};
constexpr int kSettleMs = 300;

void settle(int ms = kSettleMs) {
  QElapsedTimer timer;
  timer.start();
  wait_until([&] { return timer.elapsed() > ms; }, ms + 1000);
}

// Buttons and plain labels whose text doesn't fit.
QStringList cut_off(QWidget& root) {
  QStringList found;
  for (QWidget* widget : root.findChildren<QWidget*>()) {
    if (!widget->isVisible()) continue;
    if (const auto* button = qobject_cast<QAbstractButton*>(widget);
        button != nullptr && !button->text().isEmpty() &&
        button->width() < button->minimumSizeHint().width()) {
      found << button->text();
    }
    if (const auto* label = qobject_cast<QLabel*>(widget);
        label != nullptr && !label->wordWrap() && !label->text().isEmpty()) {
      if (label->fontMetrics().horizontalAdvance(label->text()) > label->width() + 1) found << label->text();
    }
  }
  return found;
}

class Pictures : public testing::Test {
 protected:
  void SetUp() override {
    HistoryStore store(surroundings_.folder.path());
    make_run(store, {.name = "baseline bf16",
                     .updates = 900,
                     .last_loss = 2.72,
                     .tokens_per_s = 8350,
                     .tags = {"baseline"}});
    make_run(store, {.name = "recompute norms",
                     .updates = 820,
                     .last_loss = 2.71,
                     .tokens_per_s = 10120,
                     .settings = {"memory.recompute=norms", "batch.micro_batch=2"},
                     .tags = {"speed"},
                     .seed = 2});
    make_run(store, {.name = "lr 6e-4",
                     .updates = 610,
                     .last_loss = 2.66,
                     .nan_at = 433,
                     .status = RunStatus::Failed,
                     .reason = "The loss was NaN at step 433.",
                     .settings = {"schedule.lr=6e-4"},
                     .seed = 3});
    make_run(store, {.name = "stopped early",
                     .updates = 210,
                     .status = RunStatus::Stopped,
                     .reason = "Stopped on request after step 210.",
                     .seed = 4});
    running_ = make_run(store,
                        {.name = "977m, long run",
                         .updates = 1250,
                         .last_loss = 2.58,
                         .nan_at = 700,
                         .status = RunStatus::Running,
                         .settings = {"run.updates=40000"},
                         .notes = "Watch the spike at 700.",
                         .seed = 5},
                        &writer_);
    window_ = std::make_unique<MainWindow>(surroundings_.context, make_page);
  }

  void shoot(const QString& place) {
    const QString folder = qEnvironmentVariable("LATHE_PICTURES");
    for (const Screen& screen : {Screen{"1366x768", {1366, 768}, 1}, Screen{"2560x1440", {1706, 960}, 1.5},
                                 Screen{"3840x2160", {1920, 1080}, 2}, Screen{"1024x640", {1024, 640}, 1}}) {
      for (const bool dark : {false, true}) {
        surroundings_.theme.set_dark(dark);
        window_->resize(screen.logical);
        settle();
        expect_nothing_cut_off(place, screen.name);
        QImage image((QSizeF(screen.logical) * screen.scale).toSize(), QImage::Format_RGB32);
        image.setDevicePixelRatio(screen.scale);
        window_->render(&image);
        if (folder.isEmpty()) continue;
        QDir().mkpath(folder);
        ASSERT_TRUE(image.save(QStringLiteral("%1/%2_%3_%4.png")
                                   .arg(folder, place, QString::fromLatin1(screen.name),
                                        dark ? QStringLiteral("dark") : QStringLiteral("light"))));
      }
    }
  }

  void expect_nothing_cut_off(const QString& place, const char* screen) {
    Page* page = place.startsWith(QStringLiteral("runs"))
                     ? static_cast<Page*>(window_->findChild<RunsPage*>())
                     : window_->findChild<RunPage*>();
    const QStringList found = cut_off(*page);
    EXPECT_TRUE(found.isEmpty()) << to_std(place) << " at " << screen << ": "
                                 << to_std(found.join(QStringLiteral(" | ")));
  }

  Surroundings surroundings_;
  std::unique_ptr<RunWriter> writer_;
  std::string running_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(Pictures, RunPage_EverySizeAndTab_NothingIsCutOff) {
  window_->show();
  Q_EMIT surroundings_.navigator.open_run(to_qt(running_));
  auto* page = window_->findChild<RunPage*>();
  ASSERT_NE(page, nullptr);
  ASSERT_TRUE(wait_until([&] { return page->complete(); }));
  shoot(QStringLiteral("run_charts"));
  const char* names[] = {"charts", "samples", "try", "log", "checkpoints", "settings", "profile"};
  for (int tab = 1; tab < page->tabs().count(); ++tab) {
    page->tabs().setCurrentIndex(tab);
    shoot(QStringLiteral("run_") + QString::fromLatin1(names[tab]));
  }
}

TEST_F(Pictures, RunsPage_EverySizeAndTab_NothingIsCutOff) {
  window_->show();
  Q_EMIT surroundings_.navigator.show_place(Place::Runs);
  auto* page = window_->findChild<RunsPage*>();
  ASSERT_NE(page, nullptr);
  ASSERT_TRUE(wait_until([&] { return page->model().rowCount() == 5; }));
  shoot(QStringLiteral("runs_list"));
  QStringList ids;
  for (int row = 1; row < 5; ++row) ids << to_qt(page->model().row(row).id);
  page->show_runs(ids);
  page->pin_baseline(ids.back());
  ASSERT_TRUE(wait_until([&] { return page->compare().outcomes().rowCount() == 4; }));
  page->table().selectRow(1);
  settle(600);
  shoot(QStringLiteral("runs_curves"));
  page->compare().tabs().setCurrentIndex(1);
  shoot(QStringLiteral("runs_outcomes"));
  page->compare().tabs().setCurrentIndex(2);
  shoot(QStringLiteral("runs_settings"));
}

}  // namespace
}  // namespace lathe::ui
