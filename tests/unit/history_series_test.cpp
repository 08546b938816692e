// Numbers come back as they went in: NaN and infinity, hidden and visible sessions, levels of detail.
#include <gmock/gmock.h>

#include <random>

#include "core/history/level_of_detail.h"
#include "core/history/metric_table.h"
#include "core/history/schema.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using HistorySeriesTest = HistoryTest;

std::vector<double> x_of(const RunReader& reader, Axis axis, bool superseded = false) {
  SeriesQuery query;
  query.metrics = {"loss"};
  query.axis = axis;
  query.superseded = superseded;
  return reader.series(query).x;
}

TEST_F(HistorySeriesTest, Values_NanInfinityAndMissing_SurviveApart) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  UpdateRow missing = update(5);
  missing.loss.reset();
  const double values[] = {1.5, nan, infinity, -infinity};
  for (int64_t step = 1; step <= 4; ++step) writer->add_update(update(step, values[step - 1]));
  writer->add_update(missing);
  writer->flush();
  const Series series = store.open_reader(writer->id())->series({.metrics = {"loss", "lr", "step_ms"}});
  ASSERT_EQ(series.size(), 5u);
  EXPECT_EQ(series.columns[0].last[0], 1.5);
  EXPECT_TRUE(std::isnan(series.columns[0].last[1]));
  EXPECT_EQ(series.columns[0].last[2], infinity);
  EXPECT_EQ(series.columns[0].last[3], -infinity);
  EXPECT_THAT(series.columns[0].present, ElementsAre(1, 1, 1, 1, 0));
  EXPECT_THAT(series.columns[1].last, ElementsAre(1e-3, 1e-3, 1e-3, 1e-3, 1e-3));
  EXPECT_THAT(series.columns[2].present, ElementsAre(0, 0, 0, 0, 0));
  const RunSummary run = store.summary(writer->id());
  EXPECT_EQ(run.best_loss, 1.5);
  EXPECT_EQ(run.last_loss, -infinity);
}

TEST_F(HistorySeriesTest, Axes_OfARow_AreWhatTheTrainerSaid) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  UpdateRow row = update(3);
  row.time_ms = 1'700'000'000'123;
  writer->add_update(row);
  writer->flush();
  const auto reader = store.open_reader(writer->id());
  EXPECT_THAT(x_of(*reader, Axis::Step), ElementsAre(3));
  EXPECT_THAT(x_of(*reader, Axis::Tokens), ElementsAre(3000));
  EXPECT_THAT(x_of(*reader, Axis::WallTime), ElementsAre(1'700'000'000'123));
  EXPECT_THAT(x_of(*reader, Axis::ActiveTime), ElementsAre(150));
}

TEST_F(HistorySeriesTest, Resume_AtAStep_HidesLaterPointsAndBumpsGeneration) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  const std::string id = writer->id();
  writer->begin_session(1);
  for (int64_t step = 1; step <= 100; ++step) writer->add_update(update(step, 1.0));
  for (int64_t step = 10; step <= 100; step += 10) {
    EvaluationRow row;
    row.step = step;
    row.set = "validation";
    row.eval_loss = 2.0;
    writer->add_evaluation(row);
    writer->add_sample(step, "Once", "upon a time");
  }
  writer->finish(RunStatus::Stopped, "");
  writer.reset();
  auto reader = store.open_reader(id);
  EXPECT_EQ(reader->generation(), 0);

  writer = store.open_writer(id);
  EXPECT_EQ(writer->begin_session(71), 2);
  EXPECT_EQ(reader->generation(), 1);
  EXPECT_EQ(reader->row_count(MetricTable::Updates), 70);
  EXPECT_EQ(store.summary(id).step, 70) << "the catalogue follows";
  for (int64_t step = 71; step <= 90; ++step) writer->add_update(update(step, 2.0));
  writer->flush();
  const Series series = reader->series({.metrics = {"loss"}});
  ASSERT_EQ(series.size(), 90u);
  for (size_t i = 0; i < 90; ++i) {
    EXPECT_EQ(series.x[i], static_cast<double>(i + 1));
    EXPECT_EQ(series.session[i], i < 70 ? 1 : 2);
    EXPECT_EQ(series.columns[0].last[i], i < 70 ? 1.0 : 2.0);
  }
  EXPECT_EQ(x_of(*reader, Axis::Step, true).size(), 120u) << "hidden, not deleted";
  EXPECT_EQ(reader->row_count(MetricTable::Updates, true), 120);
  EXPECT_EQ(reader->series({.metrics = {"eval_loss"}}).size(), 7u);
  EXPECT_EQ(reader->samples().size(), 7u);
  EXPECT_EQ(reader->samples(0, true).size(), 10u);

  // Further back than the second session began: it vanishes whole, and the first loses more.
  EXPECT_EQ(writer->begin_session(51), 3);
  EXPECT_EQ(reader->generation(), 2);
  writer->add_update(update(51, 3.0));
  writer->flush();
  const Series again = reader->series({.metrics = {"loss"}});
  ASSERT_EQ(again.size(), 51u);
  EXPECT_EQ(again.session.back(), 3);
  EXPECT_EQ(again.session[49], 1);
  const auto sessions = reader->sessions();
  ASSERT_EQ(sessions.size(), 3u);
  EXPECT_EQ(sessions[0].visible_before, 51);
  EXPECT_EQ(sessions[1].visible_before, 51);
}

TEST_F(HistorySeriesTest, Series_AfterSeq_GivesOnlyWhatIsNew) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  const auto reader = store.open_reader(writer->id());
  for (int64_t step = 1; step <= 100; ++step) writer->add_update(update(step));
  writer->flush();
  SeriesQuery query{.metrics = {"loss"}};
  query.after_seq = reader->series(query).seq.back();
  EXPECT_EQ(reader->series(query).size(), 0u);
  writer->add_update(update(101));
  writer->flush();
  ASSERT_EQ(reader->series(query).size(), 1u);
  EXPECT_EQ(reader->series(query).x[0], 101);
  // The bucket of rows 65 to 101 is still growing: it comes again, whole.
  query.resolution = Resolution::Rows64;
  const Series bucket = reader->series(query);
  ASSERT_EQ(bucket.size(), 1u);
  EXPECT_EQ(bucket.first_seq[0], 65);
  EXPECT_EQ(bucket.x_first[0], 65);
  EXPECT_EQ(bucket.x[0], 101);
}

TEST_F(HistorySeriesTest, Series_StepRange_CutsRowsAndKeepsBucketsThatReachIn) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  for (int64_t step = 1; step <= 1000; ++step) writer->add_update(update(step));
  writer->flush();
  const auto reader = store.open_reader(writer->id());
  SeriesQuery query{.metrics = {"loss"}};
  query.first_step = 100;
  query.last_step = 130;
  EXPECT_EQ(reader->series(query).size(), 31u);
  query.resolution = Resolution::Rows64;
  const Series buckets = reader->series(query);
  EXPECT_THAT(buckets.x_first, ElementsAre(65, 129));
}

TEST_F(HistorySeriesTest, Parts_OfEvaluationsAndGroups_AreToldApart) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  for (const char* set : {"wiki", "books", "wiki"}) {
    EvaluationRow row;
    row.step = 1;
    row.set = set;
    row.eval_loss = 3;
    writer->add_evaluation(row);
  }
  GroupRow group;
  group.step = 1;
  group.group = "norms";
  group.group_weight_norm = 4;
  writer->add_group_stats(group);
  writer->flush();
  const auto reader = store.open_reader(writer->id());
  EXPECT_THAT(reader->parts(MetricTable::Evaluations), ElementsAre("books", "wiki"));
  EXPECT_THAT(reader->parts(MetricTable::Groups), ElementsAre("norms"));
  EXPECT_TRUE(reader->parts(MetricTable::Updates).empty());
  EXPECT_EQ(reader->series({.metrics = {"eval_loss"}, .part = "wiki"}).size(), 2u);
  EXPECT_THAT(reader->series({.metrics = {"eval_loss"}}).part, ElementsAre("wiki", "books", "wiki"));
  error_of(ErrorCode::InvalidArgument,
           [&] { reader->series({.metrics = {"eval_loss"}, .resolution = Resolution::Rows64}); });
  error_of(ErrorCode::InvalidArgument, [&] { reader->series({.metrics = {"eval_loss", "loss"}}); });
  error_of(ErrorCode::InvalidArgument, [&] { reader->series({}); });
  error_of(ErrorCode::NotFound, [&] { reader->series({.metrics = {"losss"}}); });
}

// Every bucket of every level, recomputed from the rows it names, over several sessions with cuts in the
// middle of buckets.
TEST_F(HistorySeriesTest, Levels_AfterResumesAndOddValues_EqualRecomputation) {
  constexpr unsigned seed = 20261201;
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  std::vector<std::string> keys;
  for (const MetricInfo& metric : metrics(MetricTable::Updates)) keys.emplace_back(metric.key);
  int64_t step = 1;
  for (const int64_t rows : {10'000, 5'000, 70, 4'096, 1, 3'000}) {
    writer->begin_session(step);
    for (int64_t i = 0; i < rows; ++i, ++step) {
      const double odd[] = {nan, infinity, -infinity};
      UpdateRow row =
          update(step, random() % 50 == 0 ? odd[random() % 3] : std::normal_distribution<>()(random));
      if (random() % 10 == 0) row.grad_norm.reset();
      writer->add_update(row);
      if (random() % 1000 == 0) writer->flush();
    }
    step -= static_cast<int64_t>(random() % 1500);
    step = std::max<int64_t>(step, 1);
  }
  writer->flush();
  const auto reader = store.open_reader(writer->id());
  const int64_t visible = reader->row_count(MetricTable::Updates);
  for (const int64_t level : level_rows) {
    const Series stored = reader->series({.metrics = keys, .resolution = Resolution{level}});
    int64_t covered = 0, previous = 0;
    size_t next = 0;
    Bucket bucket;
    reader->scan({.table = MetricTable::Updates}, [&](const StoredRow& row) {
      ASSERT_LT(next, stored.size()) << "row " << row.seq << " is in no bucket";
      ASSERT_GE(row.seq, stored.first_seq[next]) << "row " << row.seq << " is in no bucket";
      bucket.add(row.seq, row.session, row.position, row.values);
      if (row.seq < stored.seq[next]) return;
      ASSERT_EQ(bucket.first_seq, stored.first_seq[next]);
      ASSERT_EQ(bucket.session, stored.session[next]);
      ASSERT_EQ(static_cast<double>(bucket.first.step), stored.x_first[next]);
      ASSERT_EQ(static_cast<double>(bucket.last.step), stored.x[next]);
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        const BucketColumn& expected = bucket.columns[i];
        const SeriesColumn& column = stored.columns[i];
        ASSERT_TRUE(same(expected.min.value_or(nan), column.min[next])) << keys[i];
        ASSERT_TRUE(same(expected.max.value_or(nan), column.max[next])) << keys[i];
        ASSERT_TRUE(same(expected.last.value_or(nan), column.last[next])) << keys[i];
        ASSERT_EQ(expected.last.has_value(), column.present[next] != 0) << keys[i];
        ASSERT_EQ(expected.non_finite, column.non_finite[next]) << keys[i];
      }
      ASSERT_GT(bucket.first_seq, previous);
      previous = bucket.last_seq;
      covered += bucket.rows;
      bucket = {};
      ++next;
    });
    EXPECT_EQ(covered, visible) << "level " << level;
    EXPECT_EQ(next, stored.size());
  }
}

TEST_F(HistorySeriesTest, ResolutionFor_PointBudget_PicksTheFinestThatFits) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  for (int64_t step = 1; step <= 6400; ++step) writer->add_update(update(step));
  writer->flush();
  const auto reader = store.open_reader(writer->id());
  EXPECT_EQ(reader->resolution_for(MetricTable::Updates, 6400), Resolution::Raw);
  EXPECT_EQ(reader->resolution_for(MetricTable::Updates, 6399), Resolution::Rows64);
  EXPECT_EQ(reader->resolution_for(MetricTable::Updates, 50), Resolution::Rows4096);
  EXPECT_EQ(reader->resolution_for(MetricTable::Evaluations, 1), Resolution::Raw);
}

TEST_F(HistorySeriesTest, Sparkline_OfALongRun_HasAtMost64PointsThatFollowTheCurve) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  writer->begin_session(1);
  for (int64_t step = 1; step <= 5000; ++step) writer->add_update(update(step, static_cast<double>(step)));
  writer->flush();
  const std::vector<float> points = store.summary(writer->id()).sparkline;
  ASSERT_GE(points.size(), 32u);
  ASSERT_LE(points.size(), 64u);
  EXPECT_TRUE(std::ranges::is_sorted(points));
  EXPECT_LT(points.front(), 150);
  EXPECT_GT(points.back(), 4800);
}

}  // namespace
}  // namespace lathe
