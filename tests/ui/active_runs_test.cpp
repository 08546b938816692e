// Runs that train while the window looks on: what is told of them, and what closing the window does to them.
#include <gtest/gtest.h>

#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QToolButton>

#include "core/train/run_control.h"
#include "tests/ui/fox_run.h"
#include "tests/ui/run_support.h"
#include "tests/ui/ui_support.h"
#include "tests/ui/window_support.h"
#include "ui/active_runs.h"
#include "ui/appearance.h"
#include "ui/main_window.h"
#include "ui/navigation_rail.h"
#include "ui/pages/make_page.h"
#include "ui/pages/run_controls.h"
#include "ui/pages/run_page.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

// A run of another process, held by `writer`.
class ElsewhereTest : public testing::Test {
 protected:
  void SetUp() override {
    id_ =
        to_qt(make_run(store_, {.name = "elsewhere", .updates = 60, .status = RunStatus::Running}, &writer_));
    active_.start();
    ASSERT_TRUE(wait_until([&] { return active_.runs().size() == 1; }));
  }
  bool alerts(int count) {
    return wait_until([&] { return surroundings_.alerts.rowCount() == count; });
  }
  bool stays_quiet() {
    const int count = surroundings_.alerts.rowCount();
    wait_until([] { return false; }, 2500);
    return surroundings_.alerts.rowCount() == count;
  }
  void live(RunStatus state, const std::string& phase) {
    LiveState live;
    live.state = state;
    live.phase = phase;
    live.step = 60;
    writer_->set_live(live);
    writer_->flush();
  }
  const Alert& newest() { return surroundings_.alerts.at(0); }

  Surroundings surroundings_{false};
  HistoryStore store_{surroundings_.folder.path()};
  std::unique_ptr<RunWriter> writer_;
  QString id_;
  ActiveRuns active_{surroundings_.context};
};

TEST_F(ElsewhereTest, Failure_IsToldOnceWithItsReason) {
  writer_->add_event(EventLevel::Error, "Update 61: the loss is not finite.", 60);
  writer_->finish(RunStatus::Failed, "Update 61: the loss is not finite.");
  ASSERT_TRUE(alerts(1));
  EXPECT_EQ(newest().level, Alert::Level::Error);
  EXPECT_EQ(newest().run, id_);
  EXPECT_TRUE(newest().text.contains(QStringLiteral("elsewhere"))) << to_std(newest().text);
  EXPECT_TRUE(newest().advice.contains(QStringLiteral("not finite")));
  EXPECT_TRUE(newest().details.contains(QStringLiteral("not finite")));
  EXPECT_TRUE(stays_quiet());
  EXPECT_TRUE(active_.runs().empty());
}

TEST_F(ElsewhereTest, ProcessVanishes_IsToldOnce) {
  writer_.reset();  // no word of an end
  ASSERT_TRUE(alerts(1));
  EXPECT_EQ(newest().level, Alert::Level::Error);
  EXPECT_TRUE(newest().advice.contains(QStringLiteral("unexpectedly"))) << to_std(newest().advice);
  EXPECT_TRUE(stays_quiet());
}

TEST_F(ElsewhereTest, Warnings_AreToldOnceAKind) {
  const auto warn = [&](const char* text) {
    writer_->add_event(EventLevel::Warning, text, 60);
    writer_->flush();
  };
  warn("Update 61: gradient norm 12.3, 4.5 standard deviations above its mean.");
  ASSERT_TRUE(alerts(1));
  EXPECT_EQ(newest().level, Alert::Level::Warning);
  EXPECT_TRUE(newest().text.contains(QStringLiteral("gradient norm 12.3")));
  warn("Update 62: gradient norm 9.1e+03, 7.5 standard deviations above its mean.");
  EXPECT_TRUE(stays_quiet());
  warn("Updates now take 900 ms, 2.9 times as long as at the start of this session.");
  EXPECT_TRUE(alerts(2));
}

TEST_F(ElsewhereTest, FullDisk_IsToldOnceAndOffersToRetry) {
  RunPage page(surroundings_.context);
  page.show();
  page.activated();
  writer_->add_event(EventLevel::Error, "Saving at step 60 failed: no space left.", 60);
  live(RunStatus::Paused, std::string(kWaitsForDisk) + ": a checkpoint needs 5.46 GiB");
  ASSERT_TRUE(alerts(1));
  EXPECT_TRUE(newest().text.contains(QStringLiteral("disk"))) << to_std(newest().text);
  EXPECT_TRUE(newest().advice.contains(QStringLiteral("a checkpoint needs 5.46 GiB")));
  EXPECT_TRUE(newest().advice.contains(QStringLiteral("Retry")));
  const QPushButton* retry = page.controls().button(CommandKind::Pause);
  EXPECT_TRUE(wait_until([&] { return retry->text() == RunControls::tr("Retry"); }));
  EXPECT_TRUE(page.controls().answer().contains(QStringLiteral("needs 5.46 GiB")));
  EXPECT_TRUE(stays_quiet());
  live(RunStatus::Running, "micro-step");
  EXPECT_TRUE(wait_until([&] { return retry->text() == RunControls::tr("Pause"); }));
  EXPECT_EQ(page.controls().answer(), QString());
}

// A window in which a small run trains.
class TrainingWindowTest : public testing::Test {
 protected:
  void SetUp() override {
    RunConfig config = fox_run(surroundings_.folder.path(), 1'000'000);
    config.run.name = "foxes";
    open();
    surroundings_.session.start(config);
    ASSERT_TRUE(wait_until([&] { return !surroundings_.session.run_id().isEmpty(); }));
    id_ = to_std(surroundings_.session.run_id());
    ASSERT_TRUE(passes(2));
  }
  void TearDown() override {
    window_.reset();
    if (store().is_running(id_) && !surroundings_.session.active()) stop();
  }

  void open() {
    window_ = std::make_unique<MainWindow>(surroundings_.context, make_page);
    ASSERT_TRUE(show_until_usable(*window_));
  }
  HistoryStore store() { return HistoryStore(surroundings_.folder.path()); }
  bool passes(int64_t step) {
    return wait_until([&] { return store().summary(id_).step >= step; }, 60000);
  }
  bool reaches(RunStatus status) {
    return wait_until([&] { return store().summary(id_).status == status; }, 60000);
  }
  void stop() {
    store().post_command(id_, CommandKind::Stop);
    ASSERT_TRUE(reaches(RunStatus::Stopped));
  }
  SessionRow newest_session() { return store().open_reader(id_)->sessions().back(); }

  // Closes the window and presses that button of the question.
  void close_and_press(const QString& answer) {
    QTimer presser;
    QObject::connect(&presser, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr) return;
      presser.stop();
      for (QAbstractButton* button : box->buttons()) {
        if (button->text() == answer) QTest::mouseClick(button, Qt::LeftButton);
      }
    });
    presser.start(20);
    EXPECT_FALSE(window_->close());
  }
  bool closes() {
    return wait_until([&] { return !window_->isVisible(); }, 60000);
  }

  Surroundings surroundings_;
  std::string id_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(TrainingWindowTest, Stay_TrainsOn) {
  const RecordingDesktop& desktop = surroundings_.desktop;
  EXPECT_TRUE(desktop.sleep_inhibited());
  EXPECT_TRUE(wait_until([&] { return desktop.progress && *desktop.progress > 0; }));
  EXPECT_TRUE(wait_until([&] { return window_->windowTitle().contains(QStringLiteral("Training foxes")); }));
  close_and_press(QStringLiteral("Stay"));
  EXPECT_TRUE(window_->isVisible());
  EXPECT_TRUE(surroundings_.session.active());
  EXPECT_TRUE(passes(store().summary(id_).step + 2));
  EXPECT_TRUE(desktop.sleep_inhibited());
}

TEST_F(TrainingWindowTest, SaveAndStop_SavesThenCloses_AndResumesInItsOwnProcess) {
  close_and_press(QStringLiteral("Save and stop"));
  ASSERT_TRUE(closes());
  EXPECT_FALSE(surroundings_.session.active());
  EXPECT_FALSE(surroundings_.desktop.sleep_inhibited());
  EXPECT_FALSE(surroundings_.desktop.progress.has_value());
  const RunSummary run = store().summary(id_);
  EXPECT_EQ(run.status, RunStatus::Stopped);
  EXPECT_EQ(run.last_checkpoint_step, run.step);

  window_.reset();
  open();
  const int64_t here = newest_session().process;
  surroundings_.preferences.set_own_process(true);
  Q_EMIT surroundings_.navigator.resume_run(to_qt(id_), -1);
  ASSERT_TRUE(passes(run.step + 2)) << (surroundings_.alerts.rowCount() > 0
                                            ? to_std(surroundings_.alerts.at(0).text)
                                            : "");
  EXPECT_NE(newest_session().process, here);
  EXPECT_EQ(newest_session().first_step, run.step + 1);
  EXPECT_FALSE(surroundings_.session.active());
  EXPECT_EQ(window_->place(), Place::Run);
  stop();
}

TEST_F(TrainingWindowTest, KeepRunning_TrainsOnWithoutAGap_AndIsInSightAtTheNextStart) {
  const int64_t here = newest_session().process;
  close_and_press(QStringLiteral("Keep running"));
  ASSERT_TRUE(closes());
  EXPECT_FALSE(surroundings_.desktop.sleep_inhibited());
  const int64_t saved = store().summary(id_).step;
  ASSERT_TRUE(passes(saved + 2));
  EXPECT_NE(newest_session().process, here);

  window_.reset();
  surroundings_.preferences.set_value(QStringLiteral("window/place"), static_cast<int>(Place::Data));
  open();
  EXPECT_TRUE(wait_until([&] { return window_->place() == Place::Run; }));
  EXPECT_TRUE(wait_until([&] { return window_->windowTitle().contains(QStringLiteral("Training foxes")); }));
  const auto* rail = window_->findChild<QToolButton*>(QStringLiteral("rail_run"));
  EXPECT_TRUE(rail->text().endsWith(QChar(0x25CF)));
  store().post_command(id_, CommandKind::Pause);
  EXPECT_TRUE(wait_until([&] { return window_->windowTitle().contains(QStringLiteral("Paused: foxes")); }));
  stop();
  EXPECT_TRUE(wait_until([&] { return window_->windowTitle() == QStringLiteral("Lathe"); }));
  EXPECT_FALSE(rail->text().endsWith(QChar(0x25CF)));
  const std::vector<double> steps = store().open_reader(id_)->series({.metrics = {"loss"}}).x;
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<double>(i + 1));

  // The end was told, also to a desktop whose user looks elsewhere.
  EXPECT_TRUE(wait_until([&] { return surroundings_.alerts.rowCount() > 0; }));
  if (!window_->isActiveWindow()) {
    EXPECT_FALSE(surroundings_.desktop.notifications.empty());
  }
}

TEST(Appearance, DesktopChanges_IsFollowedUnlessTheUserChose) {
  Surroundings surroundings(false);
  follow_appearance(surroundings.preferences, surroundings.desktop, surroundings.theme);
  EXPECT_FALSE(surroundings.theme.dark());
  surroundings.desktop.set_prefers_dark(true);
  EXPECT_TRUE(surroundings.theme.dark());
  surroundings.preferences.set_appearance(Appearance::Light);
  EXPECT_FALSE(surroundings.theme.dark());
  surroundings.desktop.set_prefers_dark(true);
  EXPECT_FALSE(surroundings.theme.dark());
}

}  // namespace
}  // namespace lathe::ui
