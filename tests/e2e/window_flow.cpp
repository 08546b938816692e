// A person's hour with the window, with mouse and keyboard on a real window (Xvfb and a window manager; run
// by window_test.py): build a dataset, break a setting and mend it, train, pause, stop, resume, clone,
// compare, import a foreign log, export. And a run of another process, watched and steered.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <fstream>

#include "core/history/history_store.h"
#include "tests/ui/ui_support.h"
#include "ui/charts/chart_export.h"
#include "ui/forms/config_document.h"
#include "ui/forms/config_form.h"
#include "ui/main_window.h"
#include "ui/models/comparison_models.h"
#include "ui/models/runs_model.h"
#include "ui/pages/data_build_dialog.h"
#include "ui/pages/data_job.h"
#include "ui/pages/data_page.h"
#include "ui/pages/make_page.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_launch_bar.h"
#include "ui/pages/new_page.h"
#include "ui/pages/run_chart_board.h"
#include "ui/pages/run_charts.h"
#include "ui/pages/run_controls.h"
#include "ui/pages/run_export.h"
#include "ui/pages/run_page.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_import_dialog.h"
#include "ui/pages/runs_page.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // the machine may be busy

class WindowFlow : public ::testing::Test {
 protected:
  void SetUp() override {
    window_ = std::make_unique<MainWindow>(surroundings_.context, make_page);
    bool usable = false;
    QObject::connect(window_.get(), &MainWindow::usable, window_.get(), [&usable] { usable = true; });
    window_->show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get(), kPatienceMs)) << "no window manager?";
    ASSERT_TRUE(wait_until([&] { return usable; }, kPatienceMs));
  }

  NewPage& new_page() { return *static_cast<NewPage*>(window_->page(Place::New)); }
  RunPage& run_page() { return *static_cast<RunPage*>(window_->page(Place::Run)); }
  RunsPage& runs_page() { return *static_cast<RunsPage*>(window_->page(Place::Runs)); }
  DataPage& data_page() { return *static_cast<DataPage*>(window_->page(Place::Data)); }

  void go(const char* place) {
    QTest::mouseClick(window_->findChild<QToolButton*>(QStringLiteral("rail_") + QLatin1String(place)),
                      Qt::LeftButton);
    QCoreApplication::processEvents();
  }

  // Types into a field of the form as a person would.
  void type(const char* key, const QString& text) {
    new_page().form().go_to(key);
    auto* line = new_page().form().findChild<QLineEdit*>(QLatin1String(key));
    ASSERT_NE(line, nullptr) << key;
    QTest::mouseClick(line, Qt::LeftButton);
    QTest::keySequence(line, QKeySequence::SelectAll);
    QTest::keyClicks(line, text);
    ASSERT_EQ(line->text(), text);
  }

  std::filesystem::path write_text() {
    const std::filesystem::path path = surroundings_.folder.path() / "foxes.txt";
    std::ofstream file(path);
    for (int i = 0; i < 300; ++i)
      file << "The quick brown fox number " << i << " jumps over the lazy dog.\n<|endoftext|>\n";
    return path;
  }

  void build_dataset() {
    go("data");
    for (QPushButton* button : data_page().findChildren<QPushButton*>()) {
      if (button->text() == QStringLiteral("Build…")) QTest::mouseClick(button, Qt::LeftButton);
    }
    auto* dialog = data_page().findChild<BuildDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->add_inputs({to_qt(write_text())});
    dialog->set_vocab(300);
    QAbstractButton* build = nullptr;
    for (QAbstractButton* button : dialog->findChild<QDialogButtonBox*>()->buttons()) {
      if (button->text() == QStringLiteral("Build")) build = button;
    }
    ASSERT_NE(build, nullptr);
    QTest::mouseClick(build, Qt::LeftButton);
    ASSERT_TRUE(wait_until(
        [&] {
          return !data_page().job().busy() && data_page().current_folder().endsWith(QStringLiteral("foxes"));
        },
        kPatienceMs));
    for (QPushButton* button : data_page().findChildren<QPushButton*>()) {
      if (button->text() == QStringLiteral("Train on it")) QTest::mouseClick(button, Qt::LeftButton);
    }
    ASSERT_EQ(window_->place(), Place::New);
    ASSERT_EQ(new_page().document().config().data.sources.size(), 1U);
  }

  RunSummary summary(const QString& run) {
    return surroundings_.context.open_history()->summary(to_std(run));
  }
  bool reached(const QString& run, RunStatus status) {
    return wait_until([&] { return summary(run).status == status; }, kPatienceMs);
  }
  bool passes_step(const QString& run, int64_t step) {
    return wait_until([&] { return summary(run).step >= step; }, kPatienceMs);
  }
  void press(CommandKind kind) {
    QPushButton* button = run_page().controls().button(kind);
    ASSERT_NE(button, nullptr);
    // Pause and Go on share a button; what it says lags behind the history by a look.
    const bool resume = kind == CommandKind::Resume;
    const auto offered = [&] {
      return button->isVisible() && button->isEnabled() &&
             (button->text() == QStringLiteral("Go on")) == resume;
    };
    ASSERT_TRUE(wait_until(offered, kPatienceMs)) << command_name(kind);
    QTest::mouseClick(button, Qt::LeftButton);
  }
  void launch() {
    QPushButton* button = new_page().launch_bar().launch_button();
    ASSERT_TRUE(wait_until([&] { return button->isEnabled(); }, kPatienceMs))
        << to_std(new_page().launch_bar().reason());
    QTest::mouseClick(button, Qt::LeftButton);
    ASSERT_TRUE(wait_until(
        [&] { return !surroundings_.session.run_id().isEmpty() && window_->place() == Place::Run; },
        kPatienceMs));
  }

  Surroundings surroundings_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(WindowFlow, OnePerson_FromTextToComparison_GetsThere) {
  build_dataset();
  type("model.vocab", QStringLiteral("300"));
  type("schedule.warmup", QStringLiteral("2"));
  type("run.updates", QStringLiteral("100000"));
  type("run.eval_every", QStringLiteral("0"));

  // A setting that can't be, then mended by Undo.
  type("model.heads", QStringLiteral("5"));
  EXPECT_FALSE(new_page().launch_bar().launch_button()->isEnabled());
  EXPECT_FALSE(new_page().document().problems().empty());
  type("model.heads", QStringLiteral("4"));
  ASSERT_TRUE(wait_until([&] { return new_page().document().problems(true).empty(); }, kPatienceMs));

  launch();
  const QString first = surroundings_.session.run_id();
  ASSERT_TRUE(passes_step(first, 5));
  ASSERT_TRUE(wait_until([&] { return run_page().run() == first; }, kPatienceMs));

  press(CommandKind::Pause);
  ASSERT_TRUE(reached(first, RunStatus::Paused));
  const int64_t paused_at = summary(first).step;
  press(CommandKind::Resume);
  ASSERT_TRUE(passes_step(first, paused_at + 2));
  press(CommandKind::Stop);
  ASSERT_TRUE(reached(first, RunStatus::Stopped));
  ASSERT_TRUE(wait_until([&] { return !surroundings_.session.active(); }, kPatienceMs));
  const std::optional<int64_t> saved = summary(first).last_checkpoint_step;
  ASSERT_TRUE(saved.has_value());

  // Resume from Runs: the first new step is the next one.
  go("runs");
  ASSERT_TRUE(wait_until([&] { return runs_page().model().rowCount() == 1; }, kPatienceMs));
  runs_page().table().selectRow(0);
  runs_page().resume_current();
  ASSERT_TRUE(passes_step(first, *saved + 3));
  press(CommandKind::Stop);
  ASSERT_TRUE(reached(first, RunStatus::Stopped));
  ASSERT_TRUE(wait_until([&] { return !surroundings_.session.active(); }, kPatienceMs));

  // The same run again with another learning rate.
  go("runs");
  runs_page().table().selectRow(0);
  runs_page().clone_current();
  const QString first_name = to_qt(summary(first).name);
  ASSERT_TRUE(wait_until(
      [&] { return window_->place() == Place::New && new_page().document().base_name() == first_name; },
      kPatienceMs));
  type("schedule.lr", QStringLiteral("5e-4"));
  type("run.updates", QStringLiteral("12"));
  launch();
  const QString second = surroundings_.session.run_id();
  ASSERT_NE(second, first);
  ASSERT_TRUE(reached(second, RunStatus::Finished))
      << status_name(summary(second).status) << " at step " << summary(second).step << ": "
      << summary(second).status_reason;

  // Side by side: the learning rate is among what differs.
  go("runs");
  runs_page().show_runs({first, second});
  ASSERT_TRUE(wait_until(
      [&] {
        for (int row = 0; row < runs_page().compare().settings().rowCount(); ++row) {
          for (int column = 0; column < runs_page().compare().settings().columnCount(); ++column) {
            if (runs_page()
                    .compare()
                    .settings()
                    .index(row, column)
                    .data()
                    .toString()
                    .contains(QStringLiteral("5e-4")))
              return true;
          }
        }
        return false;
      },
      kPatienceMs));

  // A foreign log becomes a run.
  const std::filesystem::path log = surroundings_.folder.path() / "pytorch.csv";
  std::ofstream(log) << "step,loss,tokens_per_sec\n1,9.5,8100\n2,8.7,8150\n3,8.1,8140\n";
  runs_page().import_log(to_qt(log));
  auto* import = runs_page().findChild<RunsImportDialog*>();
  ASSERT_NE(import, nullptr);
  ASSERT_TRUE(wait_until([&] { return import->ready(); }, kPatienceMs)) << to_std(import->state());
  import->start_import();
  ASSERT_TRUE(
      wait_until([&] { return surroundings_.context.open_history()->list().size() == 3; }, kPatienceMs));

  // Files: every row as CSV, the charts as PNG.
  const std::filesystem::path csv = surroundings_.folder.path() / "rows.csv",
                              png = surroundings_.folder.path() / "charts.png";
  EXPECT_EQ(export_rows(surroundings_.folder.path(), to_std(second), "updates", csv), 12);
  std::ifstream rows(csv);
  int lines = 0;
  for (std::string line; std::getline(rows, line);) ++lines;
  EXPECT_EQ(lines, 13);
  export_picture(runs_page().compare().board().charts(), {}, png);
  EXPECT_FALSE(QImage(to_qt(png)).isNull());
}

TEST_F(WindowFlow, RunOfAnotherProcess_Watched_ObeysTheButtons) {
  const QString program = qEnvironmentVariable("LATHE");
  if (program.isEmpty()) GTEST_SKIP() << "LATHE names no program: run through window_test.py";
  build_dataset();
  QProcess training;
  training.setProgram(program);
  training.setArguments({QStringLiteral("--home"), to_qt(surroundings_.folder.path()),
                         QStringLiteral("train"), QStringLiteral("--preset"), QStringLiteral("tiny"),
                         QStringLiteral("--data"), data_page().current_folder(), QStringLiteral("--set"),
                         QStringLiteral("model.vocab=300"), QStringLiteral("--set"),
                         QStringLiteral("run.updates=100000"), QStringLiteral("--set"),
                         QStringLiteral("run.eval_every=0")});
  training.setStandardOutputFile(QProcess::nullDevice());
  training.start();
  QString run;
  ASSERT_TRUE(wait_until(
      [&] {
        const std::vector<RunSummary> runs = surroundings_.context.open_history()->list();
        if (!runs.empty()) run = to_qt(runs.front().id);
        return !runs.empty();
      },
      kPatienceMs));
  Q_EMIT surroundings_.navigator.open_run(run);
  ASSERT_TRUE(passes_step(run, 3));
  press(CommandKind::Pause);
  ASSERT_TRUE(reached(run, RunStatus::Paused));
  press(CommandKind::Resume);
  ASSERT_TRUE(passes_step(run, summary(run).step + 2));
  press(CommandKind::Stop);
  ASSERT_TRUE(reached(run, RunStatus::Stopped));
  ASSERT_TRUE(training.waitForFinished(kPatienceMs));
  EXPECT_TRUE(summary(run).last_checkpoint_step.has_value());
}

}  // namespace
}  // namespace lathe::ui
