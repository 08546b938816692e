// The models of runs under QAbstractItemModelTester, the filter, and the feeds that fill them.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "core/history/compare.h"
#include "tests/ui/run_support.h"
#include "tests/ui/ui_support.h"
#include "ui/models/catalogue_feed.h"
#include "ui/models/comparison_models.h"
#include "ui/models/history_editor.h"
#include "ui/models/run_feed.h"
#include "ui/models/run_tables.h"
#include "ui/models/runs_filter.h"
#include "ui/models/runs_model.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

ListedRun listed(const std::string& id, const std::string& name) {
  ListedRun run;
  run.id = id;
  run.name = name;
  run.status = RunStatus::Finished;
  return run;
}

TEST(RunsModel, Changes_KeepTicksAndAreSound) {
  RunsModel model;
  QAbstractItemModelTester tester(&model, kFatal);
  RunsFilter filter;
  filter.setSourceModel(&model);
  QAbstractItemModelTester filter_tester(&filter, kFatal);
  model.set_runs({listed("c", "third"), listed("b", "second"), listed("a", "first")});
  model.set_ticked({QStringLiteral("a"), QStringLiteral("b")});
  QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
  ListedRun changed = listed("b", "renamed");
  model.set_runs({listed("d", "fourth"), listed("c", "third"), changed});
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.ticked(), QStringList{QStringLiteral("b")});
  EXPECT_EQ(model.index(2, RunsModel::Name).data().toString(), QStringLiteral("renamed"));
  EXPECT_EQ(resets.size(), 0);
  model.set_runs({});
  EXPECT_TRUE(model.ticked().isEmpty());
}

TEST(RunsModel, EleventhTick_IsRefused) {
  RunsModel model;
  std::vector<ListedRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(listed("run" + std::to_string(i), "n"));
  model.set_runs(runs);
  QSignalSpy refused(&model, &RunsModel::too_many_ticked);
  for (int row = 0; row < 11; ++row)
    model.setData(model.index(row, RunsModel::Name), Qt::Checked, Qt::CheckStateRole);
  EXPECT_EQ(model.ticked().size(), RunsModel::kMostTicked);
  EXPECT_EQ(refused.size(), 1);
}

TEST(RunsFilter, Words_MustAllBeThere) {
  RunsModel model;
  RunsFilter filter;
  filter.setSourceModel(&model);
  ListedRun fp8 = listed("a", "tiny fp8");
  fp8.tags = {"fp8"};
  fp8.notes = "spike at 1200";
  ListedRun failed = listed("b", "tiny");
  failed.status = RunStatus::Failed;
  ListedRun archived = listed("c", "tiny old");
  archived.archived = true;
  model.set_runs({fp8, failed, archived});
  EXPECT_EQ(filter.rowCount(), 2);
  filter.set_text(QStringLiteral("TINY spike"));
  EXPECT_EQ(filter.rowCount(), 1);
  filter.set_text(QStringLiteral("status:failed"));
  EXPECT_EQ(filter.rowCount(), 1);
  filter.set_text(QStringLiteral("tag:fp8 tiny"));
  EXPECT_EQ(filter.rowCount(), 1);
  filter.set_text({});
  filter.set_show_archived(true);
  EXPECT_EQ(filter.rowCount(), 3);
}

TEST(RunsFilter, Sort_PutsMissingNumbersLast) {
  RunsModel model;
  RunsFilter filter;
  filter.setSourceModel(&model);
  ListedRun low = listed("a", "low"), high = listed("b", "high"), none = listed("c", "none");
  low.best_loss = 2;
  high.best_loss = 10;
  model.set_runs({none, high, low});
  filter.sort(RunsModel::BestLoss, Qt::AscendingOrder);
  EXPECT_EQ(filter.index(0, 0).data().toString(), QStringLiteral("low"));
  EXPECT_EQ(filter.index(2, 0).data().toString(), QStringLiteral("none"));
}

TEST(RunTables, Models_AreSound) {
  EventsModel events;
  SamplesModel samples;
  CheckpointsModel checkpoints;
  SettingsModel settings;
  ProfileModel profile;
  QAbstractItemModelTester a(&events, kFatal), b(&samples, kFatal), c(&checkpoints, kFatal),
      d(&settings, kFatal), e(&profile, kFatal);
  events.append({{1, 1, 5, 0, EventLevel::Warning, "careful"}});
  samples.append({{1, 1, 5, 0, "", "text\nof two lines"}});
  checkpoints.set_rows({{5, "checkpoints/5", 1024, true, 0}});
  settings.set_settings({{"model.layers", "12"}, {"unknown.key", "1"}});
  EXPECT_EQ(events.index(0, EventsModel::Text).data().toString(), QStringLiteral("careful"));
  EXPECT_EQ(samples.index(0, SamplesModel::Text).data().toString(), QStringLiteral("text of two lines"));
  EXPECT_EQ(settings.rowCount(), 2);
  EXPECT_TRUE(settings.index(0, SettingsModel::Value).data(Qt::FontRole).value<QFont>().bold());
  EXPECT_EQ(settings.index(1, SettingsModel::Label).data().toString(), QStringLiteral("unknown.key"));

  SequenceProfile sequence;
  sequence.ops = {{0, OpKind::Linear, 0, Phase::Forward, 3, 2, 0, 0},
                  {1, OpKind::Linear, 1, Phase::Forward, 3, 2, 0, 0},
                  {2, OpKind::RmsNorm, 1, Phase::Recompute, 2, 0, 0, 0}};
  profile.set_profile(sequence, ProfileBy::Kind);
  ASSERT_EQ(profile.rowCount(), 2);
  EXPECT_EQ(profile.index(0, ProfileModel::Ops).data().toString(), QStringLiteral("2"));
  EXPECT_EQ(profile.index(0, ProfileModel::Time).data().toString(), QStringLiteral("6.000 ms"));
  EXPECT_EQ(profile.index(0, ProfileModel::Ratio).data().toString(), QStringLiteral("1.50×"));
  EXPECT_EQ(profile.index(0, ProfileModel::Share).data().toString(), QStringLiteral("75.0%"));
  EXPECT_TRUE(
      profile.index(1, ProfileModel::Name).data().toString().endsWith(QStringLiteral("(recomputed)")));
  EXPECT_EQ(profile.index(1, ProfileModel::Floor).data().toString(), no_value());
  profile.set_profile(sequence, ProfileBy::Layer);
  EXPECT_EQ(profile.index(1, ProfileModel::Name).data().toString(), QStringLiteral("layer 1"));
  EXPECT_EQ(profile.index(1, ProfileModel::Time).data().toString(), QStringLiteral("5.000 ms"));
  profile.set_profile(sequence, ProfileBy::Phase);
  EXPECT_EQ(profile.index(1, ProfileModel::Name).data().toString(), QStringLiteral("recompute"));
  profile.set_profile({}, ProfileBy::Kind);
  EXPECT_EQ(profile.rowCount(), 0);
}

TEST(ComparisonModels, Deltas_AreAgainstTheBaseline) {
  Comparison comparison;
  comparison.settings = {{"schedule.lr", {"3e-4", "6e-4"}}};
  comparison.outcomes = {{"a", "base", 8000.0, 100.0, int64_t{10} << 30, "driver", 3.0},
                         {"b", "fast", 10000.0, 120.0, int64_t{12} << 30, "driver", 2.5}};
  comparison.equal_tokens = 1000;
  OutcomesModel outcomes;
  SettingsDiffModel settings;
  QAbstractItemModelTester a(&outcomes, kFatal), b(&settings, kFatal);
  outcomes.set_comparison(comparison, QStringLiteral("a"));
  settings.set_comparison(comparison, QStringLiteral("a"));
  EXPECT_EQ(outcomes.index(1, OutcomesModel::Speedup).data().toString(), QStringLiteral("+25.0%"));
  EXPECT_EQ(outcomes.index(1, OutcomesModel::LossDelta).data().toString(), QStringLiteral("−0.5000"));
  EXPECT_TRUE(
      outcomes.index(1, OutcomesModel::MemoryDelta).data().toString().startsWith(QStringLiteral("+2.00")));
  outcomes.set_comparison(comparison, QStringLiteral("b"));
  EXPECT_EQ(outcomes.index(0, OutcomesModel::Speedup).data().toString(), QStringLiteral("−20.0%"));
  EXPECT_EQ(settings.columnCount(), 3);
  outcomes.set_comparison({}, {});
  settings.set_comparison({}, {});
  EXPECT_EQ(outcomes.rowCount(), 0);
}

struct Collected {
  std::map<std::string, PointColumns> points;
  std::vector<EventRow> events;
  int restarts = 0;
  bool complete = false;
  void take(const RunDelta& delta) {
    if (delta.restart) {
      ++restarts;
      points.clear();
      events.clear();
    }
    for (const FeedPoints& one : delta.points) {
      PointColumns& all = points[one.metric + one.part];
      if (one.all) all = {};
      for (size_t i = 0; i < one.size(); ++i) {
        all.x.push_back(one.all ? one.all->x(i) : one.more.x[i]);
        all.y.push_back(one.y(i));
      }
    }
    events.insert(events.end(), delta.events.begin(), delta.events.end());
    complete = complete || delta.complete;
  }
};

// What was shown live equals what the finished run shows: every row once, also after a resume that hides
// some.
TEST(RunFeed, LiveRun_EqualsTheFinishedOne) {
  Surroundings surroundings(false);
  HistoryStore store(surroundings.folder.path());
  std::unique_ptr<RunWriter> writer;
  const TestRun shape{.updates = 300, .nan_at = 33, .status = RunStatus::Running};
  const std::string id = make_run(store, shape, &writer);
  HistoryThread thread;
  RunFeed feed(surroundings.context.open_history, &thread);
  Collected live;
  QObject::connect(&feed, &RunFeed::delta, [&](const RunDeltaPtr& delta) { live.take(*delta); });
  RunRequest request{id, {"loss", "tokens_per_s", "eval_loss"}, Axis::Step, 0.9, true};
  feed.request(request);
  ASSERT_TRUE(wait_until([&] { return live.complete; }));
  EXPECT_EQ(live.points["loss"].size(), 300u);
  EXPECT_TRUE(std::isnan(live.points["loss"].y[32]));
  std::mt19937_64 random(9);
  for (int64_t step = 301; step <= 340; ++step) {
    writer->add_update(test_update(shape, step, random));
    if (step % 10 == 0) writer->flush();
  }
  ASSERT_TRUE(wait_until([&] { return live.points["loss"].size() == 340u; }));
  writer->begin_session(321);  // resumed at step 320: 321 to 340 are hidden
  for (int64_t step = 321; step <= 330; ++step) writer->add_update(test_update(shape, step, random));
  writer->flush();
  ASSERT_TRUE(wait_until([&] { return live.restarts == 2 && live.points["loss"].size() == 330u; }));
  writer->finish(RunStatus::Finished, "done");
  Collected after;
  RunFeed second(surroundings.context.open_history, &thread);
  QObject::connect(&second, &RunFeed::delta, [&](const RunDeltaPtr& delta) { after.take(*delta); });
  second.request(request);
  ASSERT_TRUE(wait_until([&] { return after.complete; }));
  for (const char* key : {"loss", "tokens_per_s", "eval_lossvalidation"}) {
    ASSERT_EQ(live.points[key].x, after.points[key].x) << key;
    for (size_t i = 0; i < after.points[key].size(); ++i) {
      const double a = live.points[key].y[i], b = after.points[key].y[i];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << key << ' ' << i;
    }
  }
}

TEST(RunFeed, LongRun_ComesCoarseFirstThenWhole) {
  Surroundings surroundings(false);
  HistoryStore store(surroundings.folder.path());
  const std::string id = make_run(store, {.updates = 30'000, .eval_every = 0});
  HistoryThread thread;
  RunFeed feed(surroundings.context.open_history, &thread);
  Collected live;
  size_t first = 0;
  QObject::connect(&feed, &RunFeed::delta, [&](const RunDeltaPtr& delta) {
    live.take(*delta);
    if (first == 0) first = live.points["loss"].size();
  });
  feed.request({id, {"loss"}, Axis::Tokens, 0, false});
  ASSERT_TRUE(wait_until([&] { return live.complete; }));
  EXPECT_LT(first, 1000u);
  EXPECT_EQ(live.points["loss"].size(), 30'000u);
  EXPECT_EQ(live.points["loss"].x.back(), 30'000.0 * 65536);
}

TEST(RunFeed, UnknownRun_SaysSo) {
  Surroundings surroundings(false);
  HistoryThread thread;
  RunFeed feed(surroundings.context.open_history, &thread);
  QString error;
  QObject::connect(&feed, &RunFeed::delta, [&](const RunDeltaPtr& delta) { error = delta->error; });
  feed.request({"nothere", {"loss"}, Axis::Step, true});
  ASSERT_TRUE(wait_until([&] { return !error.isEmpty(); }));
}

TEST(CatalogueFeed, RunsAndNotes_ArriveAndChange) {
  Surroundings surroundings(false);
  HistoryThread thread;
  CatalogueFeed feed(surroundings.context.open_history, &thread);
  RunListPtr last;
  QObject::connect(&feed, &CatalogueFeed::listed, [&](const RunListPtr& list) { last = list; });
  feed.set_active(true);
  ASSERT_TRUE(wait_until([&] { return last && last->runs.empty(); }));
  HistoryStore store(surroundings.folder.path());
  const std::string id = make_run(store, {.updates = 5, .notes = "a note"});
  ASSERT_TRUE(
      wait_until([&] { return last->runs.size() == 1 && last->runs[0].status == RunStatus::Finished; }));
  EXPECT_EQ(last->runs[0].notes, "a note");
  HistoryEditor editor(surroundings.context.open_history);
  QString failure;
  QObject::connect(&editor, &HistoryEditor::failed,
                   [&](const Error& error) { failure = to_qt(error.what_happened()); });
  editor.run([&](HistoryStore& one) { one.rename(id, "better name"); });
  editor.run([](HistoryStore& one) { one.rename("nothere", "x"); });
  ASSERT_TRUE(wait_until([&] { return last->runs[0].name == "better name" && !failure.isEmpty(); }));
}

}  // namespace
}  // namespace lathe::ui
