// The Run and Runs pages over a run that was really trained: its checkpoint is verified byte by byte, writes
// text, and says so when it is damaged; its profile is measured.
#include <gtest/gtest.h>

#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <QTest>

#include "core/train/training_run.h"
#include "tests/ui/fox_run.h"
#include "tests/ui/ui_support.h"
#include "ui/models/runs_model.h"
#include "ui/pages/run_page.h"
#include "ui/pages/run_profile_tab.h"
#include "ui/pages/run_tabs.h"
#include "ui/pages/run_try_tab.h"
#include "ui/pages/runs_page.h"
#include "ui/text.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

TEST(RunPage, TrainedRun_VerifiesAndWrites) {
  Surroundings surroundings;
  const std::filesystem::path home = surroundings.folder.path();
  const RunConfig config = fox_run(home, 3);
  std::string id;
  {
    HistoryStore history(home);
    const auto run = TrainingRun::create(history, surroundings.context.registry, config);
    RunControl control;
    ASSERT_EQ(run->execute(control, {}).status, RunStatus::Finished);
    id = run->id();
  }

  RunPage page(surroundings.context);
  page.show();
  page.activated();
  page.show_run(to_qt(id));
  ASSERT_TRUE(wait_until([&] { return page.checkpoints().model().rowCount() > 0; }));
  // Manifest and sizes at once, every byte on request, and remembered.
  ASSERT_TRUE(
      wait_until([&] { return page.checkpoints().verdict().startsWith(QStringLiteral("Manifest")); }));
  page.checkpoints().verify();
  ASSERT_TRUE(wait_until([&] { return page.checkpoints().verdict().startsWith(QStringLiteral("All ")); }))
      << to_std(page.checkpoints().verdict());

  page.checkpoints().apply({.checkpoints = std::vector<CheckpointRow>{page.checkpoints().model().row(0)}});
  EXPECT_TRUE(wait_until([&] { return page.checkpoints().verdict().startsWith(QStringLiteral("All ")); }));

  // The profile that `lathe profile --run` measures, asked for by a click.
  EXPECT_TRUE(page.profile().empty());
  page.tabs().setCurrentWidget(&page.profile());
  auto* measure = page.profile().findChild<EmptyState*>()->findChild<QPushButton*>();
  ASSERT_TRUE(measure != nullptr && measure->isVisible());
  QTest::mouseClick(measure, Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return !page.profile().empty(); }, 120'000));
  EXPECT_GT(page.profile().model().rowCount(), 5);
  EXPECT_TRUE(page.profile().summary().contains(QStringLiteral("idle"))) << to_std(page.profile().summary());
  page.profile().show_by(ProfileBy::Phase);
  EXPECT_EQ(page.profile().model().rowCount(), 2);  // forward and backward
  write_file_atomically(home / "runs" / id / kProfileFile, "{\"device\": 1}");
  EXPECT_TRUE(wait_until([&] { return page.profile().empty(); }, 10'000)) << "a broken file isn't shown";

  page.try_it().choose_step(3);
  page.try_it().set_prompt(QStringLiteral("The quick"));
  page.try_it().set_length(12);
  page.try_it().write();
  ASSERT_TRUE(wait_until([&] { return !page.try_it().busy(); }, 60000));
  EXPECT_TRUE(wait_until([&] { return page.try_it().output().size() > 9; }))
      << to_std(page.try_it().output());
  EXPECT_TRUE(page.try_it().output().startsWith(QStringLiteral("The quick")));

  // One byte of one file changes.
  const CheckpointRow row = page.checkpoints().model().row(0);
  const std::filesystem::path folder = home / "runs" / id / from_utf8(row.path);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".bin") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.read(&byte, 1);
    file.seekp(0);
    file.put(static_cast<char>(byte ^ 1));
    break;
  }
  page.checkpoints().verify();
  EXPECT_TRUE(wait_until([&] { return page.checkpoints().verdict().contains(QStringLiteral(".bin")); }))
      << to_std(page.checkpoints().verdict());

  // Runs offers Resume only for a checkpoint that can be opened.
  RunsPage runs(surroundings.context);
  runs.show();
  runs.activated();
  ASSERT_TRUE(wait_until([&] { return runs.model().rowCount() == 1; }));
  QPushButton* resume = nullptr;
  for (QPushButton* button : runs.findChildren<QPushButton*>()) {
    if (button->text() == RunsPage::tr("Resume")) resume = button;
  }
  ASSERT_NE(resume, nullptr);
  runs.table().selectRow(0);
  EXPECT_TRUE(wait_until([&] { return resume->isEnabled(); }));
  std::filesystem::remove(folder / "manifest.json");
  runs.table().clearSelection();
  runs.table().selectRow(0);
  wait_until([] { return false; }, 500);
  EXPECT_FALSE(resume->isEnabled());
  EXPECT_FALSE(resume->toolTip().isEmpty());
}

}  // namespace
}  // namespace lathe::ui
