// The Run and Runs pages as a person uses them: watching and steering a run of another process, comparing,
// importing, exporting, deleting.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <fstream>
#include <thread>

#include "tests/ui/run_support.h"
#include "tests/ui/ui_support.h"
#include "ui/charts/chart.h"
#include "ui/charts/chart_toolbar.h"
#include "ui/charts/series_data.h"
#include "ui/models/runs_filter.h"
#include "ui/models/runs_model.h"
#include "ui/pages/run_chart_board.h"
#include "ui/pages/run_charts.h"
#include "ui/pages/run_controls.h"
#include "ui/pages/run_export.h"
#include "ui/pages/run_numbers.h"
#include "ui/pages/run_page.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/pages/run_tabs.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_import_dialog.h"
#include "ui/pages/runs_page.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

TEST(RunPage, RunOfAnotherProcess_IsWatchedAndSteered) {
  Surroundings surroundings(false);
  HistoryStore store(surroundings.folder.path());
  std::unique_ptr<RunWriter> writer;
  const TestRun shape{.updates = 60, .status = RunStatus::Running};
  const std::string id = make_run(store, shape, &writer);
  RunPage page(surroundings.context);
  page.resize(1200, 800);
  page.show();
  page.activated();
  ASSERT_TRUE(wait_until([&] { return page.run() == to_qt(id) && page.complete(); }));
  Chart* loss = page.charts().board().chart(QStringLiteral("loss"));
  EXPECT_EQ(loss->data(QStringLiteral("loss")).size(), 60u);
  EXPECT_EQ(page.log().model().rowCount(), 1);
  EXPECT_EQ(page.samples().model().rowCount(), 1);
  EXPECT_EQ(page.checkpoints().model().rowCount(), 1);
  EXPECT_GT(page.settings().model().rowCount(), 40);

  // The other process: answers what it is asked.
  std::atomic<bool> stop = false;
  std::vector<CommandKind> asked;
  std::thread trainer([&] {
    while (!stop) {
      for (const Command& command : writer->poll_commands()) {
        asked.push_back(command.kind);
        LiveState live;
        live.state = command.kind == CommandKind::Pause ? RunStatus::Paused : RunStatus::Running;
        live.step = 60;
        writer->set_live(live);
        writer->answer_command(command.id, "Done at step 60.");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  QSignalSpy answered(&page.controls(), &RunControls::answered);
  QPushButton* pause = page.controls().button(CommandKind::Pause);
  ASSERT_TRUE(wait_until([&] { return pause->isEnabled(); }));
  QTest::mouseClick(pause, Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return answered.size() == 1; }));
  EXPECT_TRUE(answered[0][1].toBool()) << to_std(answered[0][2].toString());
  EXPECT_EQ(page.controls().answer(), QStringLiteral("Done at step 60."));
  ASSERT_TRUE(wait_until([&] { return pause->text() == RunControls::tr("Go on"); }));
  QTest::mouseClick(pause, Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return answered.size() == 2; }));
  QTest::mouseClick(page.controls().button(CommandKind::Save), Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return answered.size() == 3; }));
  stop = true;
  trainer.join();
  EXPECT_EQ(asked, (std::vector{CommandKind::Pause, CommandKind::Resume, CommandKind::Save}));

  std::mt19937_64 random(4);
  writer->add_update(test_update(shape, 61, random));
  writer->flush();
  ASSERT_TRUE(wait_until([&] { return loss->data(QStringLiteral("loss")).size() == 61u; }, 2000));
  writer->finish(RunStatus::Stopped, "Stopped on request after step 61.");
  QPushButton* resume = page.controls().resume_button();
  ASSERT_TRUE(wait_until([&] { return resume->isVisibleTo(&page); }));
  EXPECT_TRUE(resume->text().contains(QStringLiteral("50")));
  QSignalSpy resumed(&surroundings.navigator, &Navigator::resume_run);
  QTest::mouseClick(resume, Qt::LeftButton);
  ASSERT_EQ(resumed.size(), 1);
}

// Also while the keyboard is in the picker, and for a run that was not in the list when it was opened.
TEST(RunPage, Picker_NamesTheRun) {
  Surroundings surroundings(false);
  HistoryStore store(surroundings.folder.path());
  make_run(store, {.name = "old", .updates = 20});
  RunPage page(surroundings.context);
  page.show();
  page.activated();
  auto* picker = page.findChild<QComboBox*>();
  ASSERT_TRUE(wait_until([&] { return picker->currentText().startsWith(QStringLiteral("old")); }));
  picker->lineEdit()->setFocus();
  const QString id = to_qt(make_run(store, {.name = "new", .updates = 20}));
  page.show_run(id);
  EXPECT_FALSE(picker->currentText().contains(id));
  ASSERT_TRUE(wait_until([&] { return picker->currentText().startsWith(QStringLiteral("new")); }));
  store.rename(to_std(id), "newer");
  ASSERT_TRUE(wait_until([&] { return picker->currentText().startsWith(QStringLiteral("newer")); }));
  EXPECT_EQ(page.run(), id);
}

TEST(RunPage, NoRuns_OffersOneAction) {
  Surroundings surroundings(false);
  RunPage page(surroundings.context);
  page.show();
  page.activated();
  QSignalSpy went(&surroundings.navigator, &Navigator::show_place);
  for (QPushButton* button : page.findChildren<QPushButton*>()) {
    if (button->isVisible() && button->text() == RunPage::tr("Configure a run"))
      QTest::mouseClick(button, Qt::LeftButton);
  }
  EXPECT_EQ(went.size(), 1);
}

TEST(RunPage, AxisAndCharts_AreRemembered) {
  Surroundings surroundings(false);
  HistoryStore store(surroundings.folder.path());
  make_run(store, {.updates = 40});
  {
    RunPage page(surroundings.context);
    page.charts().board().toolbar().set_axis(QStringLiteral("tokens"));
    Q_EMIT page.charts().board().toolbar().axis_chosen(QStringLiteral("tokens"));
  }
  RunPage page(surroundings.context);
  EXPECT_EQ(page.charts().axis(), Axis::Tokens);
  page.activated();
  ASSERT_TRUE(wait_until([&] { return page.complete(); }));
  const SeriesData& data = page.charts().board().chart(QStringLiteral("loss"))->data(QStringLiteral("loss"));
  EXPECT_EQ(data.x(39), 40.0 * 65536);
}

// What the large numbers and bars show of a run at work, and of one that recorded little.
TEST(RunPage, NumbersAndBars_SayWhatIsKnown) {
  Surroundings surroundings(false);
  HistoryStore store(surroundings.folder.path());
  std::unique_ptr<RunWriter> writer;
  make_run(store, {.updates = 60, .status = RunStatus::Running, .settings = {"run.updates=120"}}, &writer);
  RunPage page(surroundings.context);
  page.resize(1400, 800);
  page.show();
  page.activated();
  const auto label_with = [&](const QString& text) {
    return std::ranges::any_of(page.findChildren<QLabel*>(), [&](const QLabel* label) {
      return label->isVisible() && label->text().contains(text);
    });
  };
  const auto bars = [&] {  // "50%", "56%" of those in sight
    QStringList shown;
    for (const ThinBar* bar : page.findChildren<ThinBar*>()) {
      if (bar->isVisible()) shown << bar->accessibleDescription();
    }
    return shown;
  };
  ASSERT_TRUE(wait_until([&] { return label_with(QStringLiteral("micro-step 9 of 16")); }));
  EXPECT_EQ(bars(), (QStringList{percent_text(0.5), percent_text(9.0 / 16)}));
  EXPECT_TRUE(label_with(QStringLiteral("MFU")));
  LiveState live;
  live.state = RunStatus::Running;
  live.phase = "micro-step";
  live.step = 60;
  live.micro_step = live.micro_steps = 1;
  writer->set_live(live);
  writer->flush();
  EXPECT_TRUE(wait_until([&] { return bars() == QStringList{percent_text(0.5)}; }));
  EXPECT_TRUE(wait_until([&] { return !label_with(QStringLiteral("micro-step")); }));
  const Chart* memory = page.charts().board().chart(QStringLiteral("memory"));
  EXPECT_TRUE(memory->summary().contains(QStringLiteral("GiB"))) << to_std(memory->summary());

  auto poor = store.create_run({.name = "imported"});
  poor->begin_session(1);
  UpdateRow row;
  row.step = 1;
  row.loss = 3;
  poor->add_update(row);
  poor->finish(RunStatus::Finished, "Imported.");
  page.show_run(to_qt(poor->id()));
  EXPECT_TRUE(wait_until([&] { return memory->summary().endsWith(QStringLiteral("Not recorded.")); }));
  EXPECT_TRUE(wait_until([&] { return !label_with(QStringLiteral("MFU")); }));
  EXPECT_TRUE(wait_until([&] { return !label_with(QStringLiteral("0 tokens")); }));
}

struct TwoRuns : testing::Test {
  void SetUp() override {
    HistoryStore store(surroundings.folder.path());
    base = to_qt(make_run(store, {.name = "base", .updates = 200, .tokens_per_s = 8000}));
    fast = to_qt(make_run(store, {.name = "fast",
                                  .updates = 300,
                                  .tokens_per_s = 10'000,
                                  .settings = {"schedule.lr=6e-4"},
                                  .seed = 2}));
    page = std::make_unique<RunsPage>(surroundings.context);
    page->resize(1200, 800);
    page->show();
    page->activated();
    ASSERT_TRUE(wait_until([&] { return page->model().rowCount() == 2; }));
  }
  Surroundings surroundings{false};
  QString base, fast;
  std::unique_ptr<RunsPage> page;
};

TEST_F(TwoRuns, Ticked_AreOverlaidAndMeasuredAgainstTheBaseline) {
  page->show_runs({base, fast});
  page->pin_baseline(base);
  ASSERT_TRUE(wait_until([&] { return page->compare().outcomes().rowCount() == 2; }));
  Chart* loss = page->compare().board().chart(QStringLiteral("loss"));
  ASSERT_TRUE(wait_until([&] { return loss->series_keys().size() == 2 && loss->data(fast).size() == 300; }));
  EXPECT_NE(loss->style(base).color, loss->style(fast).color);
  const QString speed = page->compare().outcomes().index(1, OutcomesModel::Speedup).data().toString();
  EXPECT_TRUE(speed.startsWith(QStringLiteral("+2"))) << to_std(speed);
  EXPECT_EQ(page->compare().settings().rowCount(), 1);
  const QColor before = loss->style(fast).color;
  page->show_runs({fast});
  ASSERT_TRUE(wait_until([&] { return loss->series_keys() == QStringList{fast}; }));
  EXPECT_EQ(loss->style(fast).color, before);
}

// Ticks come back with the page; the baseline is pinned by a button, too.
TEST_F(TwoRuns, TicksAndPin_AreSeenAndRemembered) {
  page->show_runs({base, fast});
  EXPECT_LT(page->table().height(), 200);  // two rows leave the curves their room
  QToolButton* pin = nullptr;
  for (QToolButton* button : page->findChildren<QToolButton*>()) {
    if (button->accessibleName().startsWith(QStringLiteral("Measure other runs"))) pin = button;
  }
  ASSERT_NE(pin, nullptr);
  page->table().selectRow(
      page->filter().mapFromSource(page->model().index(page->model().row_of(fast), 0)).row());
  QTest::mouseClick(pin, Qt::LeftButton);
  EXPECT_EQ(page->model().baseline(), fast);
  EXPECT_TRUE(page->model().index(page->model().row_of(fast), 0).data(RunsModel::kBaselineRole).toBool());
  QStringList headings;
  for (int column = 0; column < OutcomesModel::ColumnCount; ++column) {
    headings << page->compare().outcomes().headerData(column, Qt::Horizontal).toString();
  }
  EXPECT_EQ(headings.removeDuplicates(), 0);
  RunsPage again(surroundings.context);
  again.activated();
  EXPECT_TRUE(wait_until([&] { return again.model().ticked() == QStringList({base, fast}); }));
  EXPECT_EQ(again.model().baseline(), fast);
}

TEST(Cells, MarkOfASelectedRow_StandsOutFromTheHighlight) {
  QStyleOptionViewItem option;
  const QColor color = option.palette.highlight().color();
  for (const bool selected : {false, true}) {
    option.state.setFlag(QStyle::State_Selected, selected);
    set_mark(&option, color, 16, 0);
    const QImage mark =
        option.icon.pixmap(QSize(16, 16), selected ? QIcon::Selected : QIcon::Normal).toImage();
    EXPECT_EQ(mark.pixelColor(8, 8).rgb(), color.rgb());
    EXPECT_EQ(mark.pixelColor(1, 8).rgb(),
              (selected ? option.palette.highlightedText().color() : color).rgb());
  }
}

TEST_F(TwoRuns, FilterRenameArchiveOpen_Work) {
  page->search().setText(QStringLiteral("fast"));
  EXPECT_EQ(page->filter().rowCount(), 1);
  page->table().selectRow(0);
  QSignalSpy opened(&surroundings.navigator, &Navigator::open_run);
  page->open_current();
  ASSERT_EQ(opened.size(), 1);
  EXPECT_EQ(opened[0][0].toString(), fast);
  page->model().setData(page->model().index(page->model().row_of(fast), RunsModel::Name),
                        QStringLiteral("faster"));
  ASSERT_TRUE(wait_until([&] { return page->model().find(fast)->name == "faster"; }));
  page->table().selectRow(0);
  page->archive_selected();
  ASSERT_TRUE(wait_until([&] { return page->filter().rowCount() == 0; }));
}

TEST_F(TwoRuns, ExportedRows_AreEveryStoredRow) {
  const auto file = surroundings.folder.path() / "rows.csv";
  EXPECT_EQ(export_rows(surroundings.folder.path(), to_std(fast), "updates", file), 300);
  std::ifstream in(file);
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) ++lines;
  EXPECT_EQ(lines, 301);
  EXPECT_THROW(
      export_rows(surroundings.folder.path(), "nothere", "updates", surroundings.folder.path() / "x.csv"),
      Error);
  EXPECT_FALSE(std::filesystem::exists(surroundings.folder.path() / "x.csv"));
}

TEST_F(TwoRuns, ForeignLog_BecomesTheBaseline) {
  const auto file = surroundings.folder.path() / "train.log";
  {
    std::ofstream out(file);
    for (int step = 1; step <= 50; ++step) {
      out << "[12:00:00] step " << step << "/50 | loss " << 11.0 - step * 0.1 << " | lr 3e-4 | 8,250 tok/s\n";
    }
  }
  RunsImportDialog dialog(surroundings.context);
  EXPECT_FALSE(dialog.ready());
  QString imported;
  QObject::connect(&dialog, &RunsImportDialog::imported, [&](const QString& id, bool) { imported = id; });
  dialog.set_file(to_qt(file));
  ASSERT_TRUE(wait_until([&] { return dialog.ready(); })) << to_std(dialog.state());
  dialog.set_name(QStringLiteral("my PyTorch run"));
  dialog.start_import();
  ASSERT_TRUE(wait_until([&] { return !imported.isEmpty(); })) << to_std(dialog.state());
  ASSERT_TRUE(wait_until(
      [&] { return page->model().find(imported) != nullptr && page->model().find(imported)->step == 50; }));
  const ListedRun* run = page->model().find(imported);
  EXPECT_EQ(run->name, "my PyTorch run");
  EXPECT_EQ(run->tags, std::vector<std::string>{"imported"});
  EXPECT_NEAR(*run->last_loss, 6.0, 1e-9);

  // What it lacks are its settings, whatever its tags say.
  HistoryStore(surroundings.folder.path()).remove_tag(to_std(imported), "imported");
  QPushButton* clone = nullptr;
  for (QPushButton* button : page->findChildren<QPushButton*>()) {
    if (button->text() == RunsPage::tr("Clone to New")) clone = button;
  }
  const auto select = [&](const QString& id) {
    page->table().selectRow(
        page->filter().mapFromSource(page->model().index(page->model().row_of(id), 0)).row());
  };
  select(fast);
  EXPECT_TRUE(wait_until([&] { return clone->isEnabled(); }));
  select(imported);
  EXPECT_TRUE(wait_until([&] { return clone->toolTip().contains(QStringLiteral("imported")); }));
  EXPECT_FALSE(clone->isEnabled());
}

}  // namespace
}  // namespace lathe::ui
