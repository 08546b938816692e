// New: opens on the right preset, its verdict equals the estimate, Launch says what is missing, changes
// apply.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QTest>
#include <random>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/presets.h"
#include "core/history/history_store.h"
#include "core/platform/process.h"
#include "tests/support/random_config.h"
#include "tests/ui/ui_support.h"
#include "ui/forms/config_document.h"
#include "ui/forms/config_form.h"
#include "ui/forms/live_plot.h"
#include "ui/forms/memory_bar.h"
#include "ui/forms/setting_row.h"
#include "ui/launch.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_changes_card.h"
#include "ui/pages/new_changes_model.h"
#include "ui/pages/new_facts.h"
#include "ui/pages/new_launch_bar.h"
#include "ui/pages/new_page.h"
#include "ui/pages/new_verdict_panel.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

// A card that isn't here, for verdicts that don't depend on this machine.
DeviceChoice card(int64_t gib, int capability = 120) {
  DeviceChoice choice;
  choice.name = "test card";
  choice.target = {DeviceKind::Cuda, capability, true};
  choice.total_bytes = gib << 30;
  choice.bf16_tflops = 100;
  return choice;
}

// A backend that only says which device it is.
class NamedBackend : public Backend {
 public:
  DeviceInfo device() const override {
    DeviceInfo info;
    info.backend = "cuda";
    info.name = "NVIDIA GeForce RTX 5080";
    info.target = {DeviceKind::Cuda, 120, true};
    info.total_bytes = int64_t{16} << 30;
    info.free_bytes = int64_t{15} << 30;
    return info;
  }
  std::vector<std::string> refusals(const StepProgram&) const override { return {}; }
  std::unique_ptr<Executable> prepare(const StepProgram&, const MemoryPlan&, const PrepareOptions&) override {
    throw Error(ErrorCode::Unsupported, "This backend only has a name.");
  }
};

class NewTest : public ::testing::Test {
 protected:
  void open(bool settle = true) {
    page_ = std::make_unique<NewPage>(surroundings_.context);
    page_->resize(1200, 800);
    page_->show();
    page_->activated();
    if (!settle) return;
    ASSERT_TRUE(wait_until([&] { return page_->assessor().assessment() && !page_->assessor().pending(); }));
  }
  bool settled() const {
    return !page_->assessor().pending() && page_->assessor().assessment() &&
           page_->assessor().assessment()->config == page_->document().config();
  }

  Surroundings surroundings_{false};
  std::unique_ptr<NewPage> page_;
};

TEST_F(NewTest, Opening_WithoutGpu_LandsOnTinyAndTheCpu) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  EXPECT_EQ(page_->document().base_name(), QStringLiteral("tiny"));
  EXPECT_EQ(page_->document().config(), load_preset("tiny"));
  EXPECT_TRUE(page_->assessor().device()->here);
  EXPECT_FALSE(page_->assessor().device()->gpu());
  EXPECT_FALSE(page_->document().undo_stack().canUndo());
}

TEST_F(NewTest, Opening_WithGpu_ShowsTheReferenceModelAgainstIt) {
  BackendRegistry registry;
  registry.push_back({"cuda", std::make_unique<NamedBackend>(), {}});
  surroundings_.devices.set(std::move(registry));
  open();
  EXPECT_EQ(page_->document().base_name(), QStringLiteral("977m"));
  const Assessment& assessment = *page_->assessor().assessment();
  EXPECT_EQ(assessment.device.others_bytes, int64_t{1} << 30);
  EXPECT_EQ(assessment.budget, (int64_t{15} << 30) - assessment.config.memory.vram_margin);
  EXPECT_EQ(assessment.estimate.parameters, 976770816);
  EXPECT_EQ(assessment.device.bf16_tflops, 112.6);
}

TEST_F(NewTest, Launch_BeforeDriversAnswered_SaysChecking) {
  open(false);
  EXPECT_FALSE(page_->launch_bar().launch_button()->isEnabled());
  EXPECT_TRUE(page_->launch_bar().launch_button()->text().contains(QStringLiteral("Checking GPU")));
  surroundings_.devices.set(make_cpu_backends());
  EXPECT_FALSE(page_->launch_bar().launch_button()->text().contains(QStringLiteral("Checking GPU")));
}

TEST_F(NewTest, Assess_TwoHundredRandomEdits_EqualsTheEstimateQuickly) {
  constexpr unsigned seed = 20261201;
  std::mt19937_64 random(seed);
  RecordProperty("seed", static_cast<int>(seed));
  std::vector<double> milliseconds;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const RunConfig config = i % 4 == 0 ? [&] {
      RunConfig large;
      large.model.layers = 1 + static_cast<int64_t>(random() % 24);
      large.batch.micro_batch = 1 + static_cast<int64_t>(random() % 4);
      return large;
    }() : lathe::testing::random_config(random);
    const DeviceChoice device = card(16);
    const Assessment assessment = assess(config, device);
    const Estimate expected = estimate(config, estimate_request(config, device));
    EXPECT_EQ(assessment.estimate.arena_bytes, expected.arena_bytes);
    EXPECT_EQ(assessment.estimate.role_bytes, expected.role_bytes);
    EXPECT_EQ(assessment.estimate.peak_op, expected.peak_op);
    EXPECT_EQ(assessment.estimate.verdict, expected.verdict);
    EXPECT_EQ(assessment.estimate.executed_flops_per_token, expected.executed_flops_per_token);
    ASSERT_EQ(assessment.live.size(), assessment.op_names.size());
    EXPECT_EQ(assessment.live[static_cast<size_t>(expected.peak.op)].bytes, expected.peak.bytes);
    milliseconds.push_back(assessment.milliseconds);
  }
  std::ranges::sort(milliseconds);
  // The median, since the machine that runs the tests may be busy; each edit must be far below 100 ms.
  EXPECT_LT(milliseconds[100], 100) << "slowest " << milliseconds.back();
}

TEST_F(NewTest, Verdict_MicroBatchGrows_TurnsToDoesNotFit) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->load_preset_named(QStringLiteral("977m"));
  page_->document().set_text("memory.recompute", QStringLiteral("block"));
  page_->document().set_text("optimizer.state", QStringLiteral("8bit"));
  page_->document().set_text("precision.gradients", QStringLiteral("bf16"));
  page_->assessor().set_device(card(16));
  ASSERT_TRUE(wait_until([&] { return settled(); }));
  EXPECT_TRUE(page_->verdict().verdict_text().startsWith(QStringLiteral("Fits")))
      << to_std(page_->verdict().verdict_text());
  page_->document().set_text("batch.micro_batch", QStringLiteral("64"));
  ASSERT_TRUE(wait_until([&] { return settled(); }));
  EXPECT_TRUE(page_->verdict().verdict_text().startsWith(QStringLiteral("Does not fit")));
  EXPECT_FALSE(page_->launch_bar().launch_button()->isEnabled());
}

TEST_F(NewTest, Verdict_InvalidSetting_NamesItAndLeadsThere) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->document().set_text("model.heads", QStringLiteral("5"));
  EXPECT_TRUE(page_->verdict().verdict_text().contains(QStringLiteral("can't be used")));
  EXPECT_TRUE(page_->verdict().verdict_text().contains(QStringLiteral("href=\"model.")));
  EXPECT_FALSE(page_->launch_bar().launch_button()->isEnabled());
  page_->document().undo_stack().undo();
  ASSERT_TRUE(wait_until([&] { return settled(); }));
  EXPECT_FALSE(page_->verdict().verdict_text().contains(QStringLiteral("can't be used")));
}

TEST_F(NewTest, Changes_ForAModelThatDoesNotFit_SaveMemoryAndApplyAsOneStep) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->load_preset_named(QStringLiteral("977m"));
  page_->document().set_text("memory.recompute", QStringLiteral("none"));
  page_->assessor().set_device(card(16));
  ASSERT_TRUE(wait_until([&] { return settled() && !page_->assessor().changes_pending(); }, 30000));
  ASSERT_EQ(page_->assessor().assessment()->estimate.verdict, Verdict::DoesNotFit);
  const std::vector<ProposedChange>& changes = page_->assessor().changes();
  ASSERT_FALSE(changes.empty());
  const int64_t before = page_->assessor().assessment()->estimate.process_bytes();
  for (const ProposedChange& change : changes) {
    EXPECT_LT(change.memory_bytes, 0) << to_std(change_text(change));
    const Assessment after = assess(change.config, card(16));
    EXPECT_EQ(after.estimate.process_bytes() - before, change.memory_bytes) << to_std(change_text(change));
  }
  const int steps = page_->document().undo_stack().count();
  QTableView* view = page_->verdict().changes().view();
  view->selectRow(0);
  const RunConfig chosen = changes[0].config;
  Q_EMIT view->activated(view->model()->index(0, 0));
  EXPECT_EQ(page_->document().config(), chosen);
  EXPECT_EQ(page_->document().undo_stack().count(), steps + 1);
}

// Nothing alone makes the reference model fit into 16 GB with so many windows; a set of changes does, and is
// one step of undo.
TEST_F(NewTest, Changes_NoneAloneFits_TheCheapestSetDoesAndStandsInSight) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->resize(1366 - 9 * 8, 768);
  page_->load_preset_named(QStringLiteral("977m"));
  page_->document().set_text("memory.recompute", QStringLiteral("norms"));
  page_->document().set_text("batch.micro_batch", QStringLiteral("7"));
  page_->assessor().set_device(card(16));
  ASSERT_TRUE(wait_until([&] { return settled() && !page_->assessor().changes_pending(); }, 30000));
  const std::vector<ProposedChange>& changes = page_->assessor().changes();
  ASSERT_GT(changes.size(), 2U);
  const ProposedChange set = changes.front();
  ASSERT_TRUE(set.combined);
  EXPECT_NE(set.verdict, Verdict::DoesNotFit);
  EXPECT_TRUE(std::all_of(changes.begin() + 1, changes.end(), [](const ProposedChange& change) {
    return !change.combined && change.verdict == Verdict::DoesNotFit;
  }));
  EXPECT_TRUE(change_text(set).contains(QStringLiteral(" + ")));

  // In sight without scrolling, and no scroll area within another.
  QTableView* view = page_->verdict().changes().view();
  const QRect row = view->visualRect(view->model()->index(0, 0));
  EXPECT_TRUE(view->viewport()->visibleRegion().contains(row));
  EXPECT_EQ(view->verticalScrollBar()->maximum(), 0);

  const int steps = page_->document().undo_stack().count();
  view->selectRow(0);
  QTest::keyClick(view, Qt::Key_Return);
  EXPECT_EQ(page_->document().config(), set.config);
  EXPECT_EQ(page_->document().undo_stack().count(), steps + 1);
  ASSERT_TRUE(wait_until([&] { return settled(); }));
  EXPECT_NE(page_->assessor().assessment()->estimate.verdict, Verdict::DoesNotFit);
}

TEST_F(NewTest, Changes_NothingHelps_SaysSo) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->load_preset_named(QStringLiteral("977m"));
  page_->assessor().set_device(card(2));
  ASSERT_TRUE(wait_until([&] { return settled() && !page_->assessor().changes_pending(); }, 30000));
  EXPECT_EQ(page_->assessor().assessment()->estimate.verdict, Verdict::DoesNotFit)
      << "also with recompute on auto";
  EXPECT_TRUE(page_->verdict().changes().note().startsWith(QStringLiteral("No set of changes")));
}

TEST(Changes, Text_EveryAssignment_IsInWords) {
  ProposedChange change;
  change.assignments = {
      {"optimizer.state", "8bit"}, {"memory.recompute", "gate_up"}, {"batch.micro_batch", "2"}};
  EXPECT_EQ(change_text(change),
            QStringLiteral("8-bit optimizer states + recompute gate/up + micro-batch 2"));
  for (const ProposedChange& proposed : propose_changes(assess(load_preset("977m"), card(16))))
    EXPECT_FALSE(change_text(proposed).contains(QLatin1Char('_'))) << to_std(change_text(proposed));
}

TEST_F(NewTest, ChangesModel_ResetAndRead_PassesTheModelTester) {
  ChangesModel model(surroundings_.theme);
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_changes(propose_changes(assess(load_preset("tiny"), card(16))));
  EXPECT_GT(model.rowCount(), 0);
  model.set_changes({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(NewTest, Launch_NothingToTrainOn_OffersTheSampleTextAndThenIsReady) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  QPushButton* way_out = page_->launch_bar().help_button();
  ASSERT_FALSE(way_out->isHidden());
  EXPECT_EQ(way_out->text(), QStringLiteral("Use the sample text"));
  QTest::mouseClick(way_out, Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return !page_->document().config().data.sources.empty(); }, 120000));
  ASSERT_TRUE(wait_until([&] { return page_->launch_bar().launch_button()->isEnabled(); }));
  EXPECT_TRUE(page_->launch_bar().reason().isEmpty());
}

TEST_F(NewTest, Launch_CardElsewhere_IsRefusedInWords) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->show_dataset(QStringLiteral("somewhere"));
  page_->assessor().set_device(card(80));
  ASSERT_TRUE(wait_until([&] { return settled(); }));
  EXPECT_FALSE(page_->launch_bar().launch_button()->isEnabled());
  EXPECT_TRUE(page_->launch_bar().reason().contains(QStringLiteral("not in this machine")));
}

TEST_F(NewTest, DevicePicker_CpuAndCards_KeepsRunDeviceInStep) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  EXPECT_EQ(page_->document().config().run.device, Device::Cpu);
  const int card_index = page_->devices().findText(QStringLiteral("RTX 5080"), Qt::MatchContains);
  ASSERT_GE(card_index, 0);
  page_->devices().setCurrentIndex(card_index);
  EXPECT_EQ(page_->document().config().run.device, Device::Automatic);
  page_->devices().setCurrentIndex(0);
  EXPECT_EQ(page_->document().config().run.device, Device::Cpu);
}

TEST_F(NewTest, Preset_Loaded_KeepsDataNameAndPrompts) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->show_dataset(QStringLiteral("austen"));
  page_->document().set_text("data.validation", QStringLiteral("held out"));
  page_->document().set_text("run.name", QStringLiteral("mine"));
  page_->document().set_text("run.prompts", QStringLiteral("It was"));
  const RunConfig before = page_->document().config();
  const int steps = page_->document().undo_stack().count();
  page_->load_preset_named(QStringLiteral("125m"));
  RunConfig expected = load_preset("125m");
  EXPECT_EQ(page_->document().base(), expected);
  expected.data = before.data;
  expected.run.name = "mine";
  expected.run.prompts = {"It was"};
  EXPECT_EQ(page_->document().config(), expected);
  EXPECT_EQ(page_->document().undo_stack().count(), steps + 1);
  page_->document().undo_stack().undo();
  EXPECT_EQ(page_->document().config(), before);
}

TEST_F(NewTest, DevicePicker_AnotherCard_IsPlannedForByMemoryAlone) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->load_preset_named(QStringLiteral("977m"));
  page_->plan_for_card(qint64{24} << 30);
  ASSERT_TRUE(wait_until([&] { return settled(); }));
  const Assessment& assessment = *page_->assessor().assessment();
  EXPECT_EQ(assessment.device.total_bytes, int64_t{24} << 30);
  EXPECT_EQ(assessment.estimate.tokens_per_s, 0);
  EXPECT_TRUE(page_->devices().currentText().contains(QStringLiteral("24.0")));
  // The heading between the two kinds can't be chosen; the last line asks for a card.
  const int heading = page_->devices().findText(QStringLiteral("Not in this machine"));
  ASSERT_GT(heading, 0);
  EXPECT_FALSE(page_->devices().model()->flags(page_->devices().model()->index(heading, 0)) &
               Qt::ItemIsEnabled);
  page_->devices().setCurrentIndex(page_->devices().count() - 1);
  auto* dialog = page_->findChild<QInputDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(page_->devices().currentText().contains(QStringLiteral("24.0"))) << "until there is an answer";
  dialog->setIntValue(12);
  dialog->accept();
  ASSERT_TRUE(wait_until([&] { return page_->assessor().device()->total_bytes == int64_t{12} << 30; }));
}

TEST_F(NewTest, LaunchBar_Name_IsTheRunsAndHasADefault) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  LaunchBar& bar = page_->launch_bar();
  EXPECT_EQ(bar.config_to_launch().run.name, "tiny");
  page_->document().set_text("schedule.lr", QStringLiteral("0.001"));
  page_->show_dataset(QStringLiteral("somewhere"));
  EXPECT_EQ(bar.name_edit()->placeholderText(),
            QStringLiteral("tiny, lr %1").arg(to_qt(get_text(page_->document().config(), "schedule.lr"))));
  EXPECT_EQ(bar.config_to_launch().run.name, to_std(bar.name_edit()->placeholderText()));
  QTest::keyClicks(bar.name_edit(), QStringLiteral("my run"));
  EXPECT_EQ(page_->document().config().run.name, "my run");
  EXPECT_EQ(bar.config_to_launch().run.name, "my run");
  page_->document().undo_stack().undo();
  EXPECT_EQ(bar.name_edit()->text(), QString());
}

TEST_F(NewTest, Storage_SlowDataOrShortDisk_IsSaidBeforeLaunch) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  const RunConfig config = load_preset("tiny");
  EXPECT_TRUE(storage_warning({}, config, 1 << 20).isEmpty());
  EXPECT_TRUE(storage_warning({int64_t{1} << 40, {}}, config, 1 << 20).isEmpty());
  EXPECT_TRUE(storage_warning({1 << 20, {}}, config, 1 << 20).contains(QStringLiteral("pause")));

  Storage answer{1000, {"/mnt/c/text"}};
  int asked = 0;
  page_->look_at = [&](const StorageQuestion& question) {
    ++asked;
    Storage storage = answer;
    if (question.data.empty()) storage.on_windows.clear();
    return storage;
  };
  page_->show_dataset(QStringLiteral("/mnt/c/text"));
  ASSERT_TRUE(wait_until(
      [&] { return settled() && page_->launch_bar().warning().contains(QStringLiteral("Windows drive")); }));
  EXPECT_TRUE(page_->launch_bar().warning().contains(bytes_text(1000)));
  EXPECT_TRUE(page_->launch_bar().launch_button()->isEnabled()) << "said, not forbidden";
  // Other settings don't ask again; those of checkpoints do.
  EXPECT_EQ(asked, 1);
  page_->document().set_text("schedule.lr", QStringLiteral("0.002"));
  page_->document().set_text("run.keep_last", QStringLiteral("7"));
  ASSERT_TRUE(wait_until([&] { return asked == 2; }));
}

TEST_F(NewTest, Help_OnAFocusedSetting_IsThatSettings) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  QString topic, key;
  QObject::connect(&surroundings_.navigator, &Navigator::show_topic,
                   [&](const QString& name) { topic = name; });
  QObject::connect(&surroundings_.navigator, &Navigator::show_setting_help,
                   [&](const QString& name) { key = name; });
  page_->activateWindow();
  page_->setFocus();
  page_->ask_for_help();
  EXPECT_EQ(topic, QStringLiteral("new"));
  page_->form().go_to("schedule.lr");
  ASSERT_TRUE(wait_until([&] { return page_->form().focused_key() == QStringLiteral("schedule.lr"); }));
  page_->ask_for_help();
  EXPECT_EQ(key, QStringLiteral("schedule.lr"));
  key.clear();
  for (QLabel* label : page_->form().findChildren<QLabel*>()) {
    if (label->accessibleName() == QStringLiteral("Help on the setting")) {
      EXPECT_TRUE(label->text().contains(QStringLiteral("<a href=\"schedule.lr\">More</a>")));
      Q_EMIT label->linkActivated(QStringLiteral("schedule.lr"));
    }
  }
  EXPECT_EQ(key, QStringLiteral("schedule.lr"));
}

TEST_F(NewTest, Form_AutoAndZero_SayWhatTheyCameTo) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->load_preset_named(QStringLiteral("977m"));
  page_->document().set_text("memory.recompute", QStringLiteral("auto"));
  page_->assessor().set_device(card(24));
  ASSERT_TRUE(wait_until([&] { return settled(); }, 30000));
  const ConfigForm& form = page_->form();
  const Assessment& assessment = *page_->assessor().assessment();
  EXPECT_EQ(form.row("model.kv_heads")->chosen(), QStringLiteral("= 16"));
  EXPECT_EQ(form.row("model.head_dim")->chosen(), QStringLiteral("= 112"));
  EXPECT_EQ(form.row("memory.vram_budget")->chosen(), QStringLiteral("= ") + bytes_text(assessment.budget));
  EXPECT_EQ(form.row("memory.recompute")->chosen().remove(QLatin1Char(' ')),
            QLatin1Char('=') + to_qt(get_text(assessment.resolved, "memory.recompute")));
  EXPECT_TRUE(form.row("schedule.length")->chosen().startsWith(QStringLiteral("= 305,")));
  EXPECT_TRUE(form.row("model.layers")->chosen().isEmpty());
  page_->document().set_text("model.kv_heads", QStringLiteral("4"));
  EXPECT_TRUE(form.row("model.kv_heads")->chosen().isEmpty());
}

TEST_F(NewTest, MemoryBarAndPlot_ArrowKeys_TellWhatTheMouseIsTold) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  for (QWidget* widget :
       {static_cast<QWidget*>(&page_->verdict().bar()), static_cast<QWidget*>(&page_->verdict().plot())}) {
    EXPECT_EQ(widget->focusPolicy(), Qt::StrongFocus);
    const QString whole = widget->accessibleDescription();
    QTest::keyClick(widget, Qt::Key_Home);
    const QString first = widget->accessibleDescription();
    QTest::keyClick(widget, Qt::Key_Right);
    const QString second = widget->accessibleDescription();
    EXPECT_NE(first, whole);
    EXPECT_NE(second, first);
    QTest::keyClick(widget, Qt::Key_Left);
    EXPECT_EQ(widget->accessibleDescription(), first);
    QTest::keyClick(widget, Qt::Key_End);
    EXPECT_NE(widget->accessibleDescription(), first);
  }
}

TEST(PastRuns, Table_ShowsTheNewestFive) {
  PredictionRecord record;
  EXPECT_TRUE(record_table(record).isEmpty());
  for (int i = 0; i < 7; ++i)
    record.past.runs.push_back({"run " + std::to_string(i), int64_t{10} << 30, int64_t{11} << 30, 5000, 0});
  const QString table = record_table(record);
  EXPECT_TRUE(table.contains(QStringLiteral("run 4")));
  EXPECT_FALSE(table.contains(QStringLiteral("run 5")));
  EXPECT_TRUE(table.contains(bytes_text(int64_t{11} << 30)));
  EXPECT_TRUE(table.contains(QStringLiteral("5,000")));
}

TEST_F(NewTest, Files_SaveAndLoad_GiveTheSameSettings) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->document().set_text("model.layers", QStringLiteral("3"));
  const RunConfig saved = page_->document().config();
  const QString path = to_qt(surroundings_.folder.path() / "mine.json");
  page_->save_file(path);
  page_->load_preset_named(QStringLiteral("125m"));
  page_->load_file(path);
  EXPECT_EQ(page_->document().config(), saved);
  EXPECT_EQ(page_->document().base_name(), QStringLiteral("mine.json"));
}

TEST_F(NewTest, Draft_WindowClosedAndOpened_IsTakenUp) {
  surroundings_.devices.set(make_cpu_backends());
  open();
  page_->document().set_text("model.layers", QStringLiteral("3"));
  const RunConfig draft = page_->document().config();
  page_.reset();
  open();
  EXPECT_EQ(page_->document().config(), draft);
  EXPECT_EQ(page_->document().base_name(), QStringLiteral("tiny"));
  EXPECT_EQ(page_->document().changes().size(), 1U);
}

TEST_F(NewTest, Clone_PastRun_TakesItsSettings) {
  surroundings_.devices.set(make_cpu_backends());
  RunConfig config = load_preset("tiny");
  config.schedule.lr = 5e-3;
  config.run.name = "first";
  RunInfo info;
  info.name = "first";
  info.settings_json = to_json(config).dump();
  info.settings = setting_rows(config);
  const std::string id = surroundings_.context.open_history()->create_run(info)->id();
  open();
  page_->show_run(to_qt(id));
  ASSERT_TRUE(wait_until([&] { return page_->document().base_name() == QStringLiteral("first"); }));
  config.run.name.clear();
  EXPECT_EQ(page_->document().config(), config);
}

TEST_F(NewTest, Facts_ReferenceModel_SayWhatTheEstimateSays) {
  const RunConfig config = load_preset("977m");
  const Assessment assessment = assess(config, card(16));
  const std::vector<Fact> facts = derived_facts(config, &assessment, int64_t{100} << 30, 0);
  EXPECT_EQ(facts[0].value, QStringLiteral("976,770,816"));
  EXPECT_EQ(facts[1].value, QStringLiteral("65,536"));
  EXPECT_EQ(facts[2].value, QStringLiteral("112"));
  EXPECT_EQ(facts.back().value, bytes_text(assessment.estimate.checkpoint_bytes));
}

TEST(Devices, ChildCrashes_IsToldAndAnAnswerIsNot) {
  EXPECT_TRUE(
      probe_in_child(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), QStringLiteral("exit 8")}).isEmpty());
  const QString crash = probe_in_child(QStringLiteral("/bin/sh"),
                                       {QStringLiteral("-c"), QStringLiteral("echo oops; kill -SEGV $$")});
  EXPECT_TRUE(crash.contains(QStringLiteral("oops"))) << to_std(crash);
  EXPECT_TRUE(probe_in_child(QStringLiteral("/nowhere/lathe"), {}).isEmpty());
}

TEST(CommandLine, ChangedPreset_ReadsBackToTheSameSettings) {
  RunConfig config = load_preset("tiny");
  config.schedule.lr = 1e-3;
  config.run.name = "it's mine";
  const QString text = command_line(config);
  EXPECT_TRUE(text.startsWith(QStringLiteral("lathe train --preset tiny")));
  EXPECT_TRUE(text.contains(QStringLiteral("--set schedule.lr=0.001"))) << to_std(text);
  EXPECT_TRUE(text.contains(QStringLiteral("'run.name=it'\\''s mine'"))) << to_std(text);
}

}  // namespace
}  // namespace lathe::ui
