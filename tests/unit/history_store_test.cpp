// The catalogue of runs: making, finding, ordering, deleting and repairing them.
#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "core/history/catalogue.h"
#include "core/history/checkpoint_folders.h"
#include "core/platform/process.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using HistoryStoreTest = HistoryTest;

TEST_F(HistoryStoreTest, CreateRun_WithInfo_KeepsEverything) {
  HistoryStore store(home());
  RunInfo all = info("first");
  all.parent = RunParent{"0123456789", 70};
  all.predicted_tokens_per_s = 8500.5;
  all.planned_peak_bytes = int64_t{15} << 30;
  all.notes = "why: \"to see\"";
  all.tags = {"b", "a"};
  const std::string id = store.create_run(all)->id();
  const RunDetails run = store.details(id);
  EXPECT_EQ(run.id.size(), 10u);
  EXPECT_EQ(run.name, "first");
  EXPECT_EQ(run.settings, all.settings);
  EXPECT_EQ(run.settings_json, all.settings_json);
  EXPECT_EQ(run.versions_json, all.versions_json);
  EXPECT_EQ(run.device, all.device);
  EXPECT_EQ(run.memory_source, "host");
  EXPECT_EQ(run.notes, all.notes);
  EXPECT_THAT(run.tags, ElementsAre("a", "b"));
  EXPECT_EQ(run.parent->run, "0123456789");
  EXPECT_EQ(run.parent->step, 70);
  EXPECT_EQ(run.predicted_tokens_per_s, 8500.5);
  EXPECT_EQ(run.planned_peak_bytes, int64_t{15} << 30);
  EXPECT_TRUE(std::filesystem::exists(run.folder / "run.db"));
  EXPECT_LE(std::abs(run.created_ms - wall_clock_ms()), 10'000);
}

TEST_F(HistoryStoreTest, SetInfo_AfterPreparing_ReplacesWhatWasGuessed) {
  HistoryStore store(home());
  auto writer = store.create_run(info("run"));
  store.add_tag(writer->id(), "mine");
  RunInfo resolved = info("ignored");
  resolved.device = "NVIDIA";
  resolved.settings.emplace_back("memory.recompute", "norms");
  writer->set_info(resolved);
  writer->flush();
  const RunDetails run = store.details(writer->id());
  EXPECT_EQ(run.name, "run");
  EXPECT_EQ(run.device, "NVIDIA");
  EXPECT_EQ(run.settings, resolved.settings);
  EXPECT_THAT(run.tags, ElementsAre("mine"));
}

TEST_F(HistoryStoreTest, Find_EveryWayToNameARun_MeansIt) {
  HistoryStore store(home());
  const std::string first = store.create_run(info("alpha"))->id();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::string second = store.create_run(info("beta"))->id();
  EXPECT_LT(first, second) << "ids sort by creation";
  EXPECT_EQ(store.find(first), first);
  EXPECT_EQ(store.find("alpha"), first);
  EXPECT_EQ(store.find("last"), second);
  EXPECT_EQ(store.find(first.substr(0, 9)), first);
  error_of(ErrorCode::NotFound, [&] { store.find("gamma"); });
  error_of(ErrorCode::NotFound, [&] { store.find(""); });
  const Error ambiguous = error_of(ErrorCode::InvalidArgument, [&] { store.find(first.substr(0, 3)); });
  EXPECT_THAT(ambiguous.what(), HasSubstr(second));
  store.rename(second, "alpha");
  error_of(ErrorCode::InvalidArgument, [&] { store.find("alpha"); });
  store.rename(second, "");
  EXPECT_EQ(store.summary(second).name, second);
}

TEST_F(HistoryStoreTest, List_WithFilters_ShowsOnlyTheirRuns) {
  HistoryStore store(home());
  const std::string a = store.create_run(info("Wide FFN"))->id();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  auto writer = store.create_run(info("deep"));
  const std::string b = writer->id();
  writer->finish(RunStatus::Finished, "All 10 updates done.");
  store.add_tag(a, "baseline");
  EXPECT_EQ(store.list().size(), 2u);
  EXPECT_EQ(store.list().front().id, b) << "newest first";
  const auto only = [&](ListFilter filter) {
    const auto runs = store.list(filter);
    return runs.size() == 1 ? runs.front().id : "";
  };
  EXPECT_EQ(only({.tag = "baseline"}), a);
  EXPECT_EQ(only({.text = "wide"}), a);
  EXPECT_EQ(only({.text = "BASE"}), a);
  EXPECT_EQ(only({.statuses = {RunStatus::Finished}}), b);
  EXPECT_EQ(store.summary(b).status_reason, "All 10 updates done.");
  store.set_archived(a, true);
  EXPECT_EQ(only({}), b);
  EXPECT_EQ(store.list({.archived = true}).size(), 2u);
  store.remove_tag(a, "baseline");
  EXPECT_TRUE(store.summary(a).tags.empty());
  error_of(ErrorCode::NotFound, [&] { store.set_notes("nobody", "x"); });
  error_of(ErrorCode::NotFound, [&] { store.add_tag("nobody", "x"); });
}

// The run's own numbers sit in files a list never opens; inside the catalogue it must be a walk over two
// indexes.
TEST_F(HistoryStoreTest, List_QueryPlan_TouchesRunAndCheckpointOnly) {
  HistoryStore store(home());
  const Database catalogue(home() / "history.db", Database::Mode::Read);
  Statement plan = catalogue.prepare("EXPLAIN QUERY PLAN " + catalogue::list_sql(false));
  std::string text;
  while (plan.step()) text += plan.text(3) + "\n";
  EXPECT_THAT(text, HasSubstr("run_by_creation")) << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("TEMP B-TREE"))) << text;
  Statement tables = catalogue.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'");
  while (tables.step()) {
    EXPECT_THAT(
        (std::vector<std::string>{"run", "setting", "tag", "checkpoint", "command", "sqlite_sequence"}),
        testing::Contains(tables.text(0)))
        << "a table of numbers in the catalogue";
  }
}

TEST_F(HistoryStoreTest, List_RunFilesGone_StillLists) {
  HistoryStore store(home());
  const std::string id = store.create_run(info("a"))->id();
  store.repair_interrupted();
  std::filesystem::remove_all(store.run_folder(id));
  EXPECT_EQ(store.list().size(), 1u);
  error_of(ErrorCode::NotFound, [&] { store.open_reader(id); });
  error_of(ErrorCode::NotFound, [&] { store.open_writer(id); });
  store.delete_run(id);
  EXPECT_TRUE(store.list().empty());
}

TEST_F(HistoryStoreTest, List_ThousandRuns_TakesUnder200Ms) {
  HistoryStore store(home());
  {
    const auto catalogue = catalogue::open(home());
    RunInfo wide = info("");
    for (int i = 0; i < 80; ++i) wide.settings.emplace_back("setting." + std::to_string(i), "some text");
    wide.settings_json.resize(6000, ' ');
    wide.tags = {"a", "b"};
    RunProgress progress;
    for (int64_t step = 1; step <= 500; ++step) progress.add(update(step));
    for (int i = 0; i < 1000; ++i) {
      const std::string id = "run" + std::to_string(i);
      catalogue::insert_run(*catalogue, id, wide);
      catalogue::set_progress(*catalogue, id, progress);
      catalogue::set_status(*catalogue, id, RunStatus::Finished, "");
      catalogue::put_checkpoint(*catalogue, id, {.step = 500, .path = "checkpoints/500", .complete = true});
    }
  }
  const double start = monotonic_seconds();
  const auto runs = store.list();
  const double ms = (monotonic_seconds() - start) * 1000;
  EXPECT_EQ(runs.size(), 1000u);
  EXPECT_EQ(runs.front().last_checkpoint_step, 500);
  EXPECT_GE(runs.front().sparkline.size(), 32u);
  EXPECT_LT(ms, 200);
  RecordProperty("list_1000_runs_us", static_cast<int>(ms * 1000));
}

TEST_F(HistoryStoreTest, Delete_Running_RefusesAndLosesNothing) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  const std::string id = writer->id();
  EXPECT_TRUE(store.is_running(id));
  error_of(ErrorCode::Busy, [&] { store.delete_run(id); });
  error_of(ErrorCode::Busy, [&] { store.open_writer(id); });
  writer->begin_session(1);
  writer->add_update(update(1));
  writer->finish(RunStatus::Stopped, "asked to");
  writer.reset();
  EXPECT_FALSE(store.is_running(id));
  EXPECT_EQ(store.open_reader(id)->row_count(MetricTable::Updates), 1);
}

TEST_F(HistoryStoreTest, Delete_Ended_UnlinksItsFolder) {
  HistoryStore store(home());
  const std::string id = store.create_run(info("a"))->id();
  const std::string kept = store.create_run(info("b"))->id();
  for (const std::string& run : {id, kept}) {
    std::filesystem::create_directories(store.run_folder(run) / "checkpoints" / "step-5");
    std::ofstream(store.run_folder(run) / "checkpoints" / "step-5" / "weights") << "w";
  }
  store.delete_run(id);
  EXPECT_FALSE(std::filesystem::exists(store.run_folder(id)));
  store.delete_run(kept, DeleteFiles::KeepCheckpoints);
  EXPECT_TRUE(std::filesystem::exists(store.run_folder(kept) / "checkpoints" / "step-5" / "weights"));
  EXPECT_FALSE(std::filesystem::exists(store.run_folder(kept) / "run.db"));
  EXPECT_TRUE(store.list().empty());
  const Database catalogue(home() / "history.db", Database::Mode::Read);
  EXPECT_EQ(catalogue.integer("SELECT count(*) FROM setting"), 0) << "rows of a deleted run stayed";
}

TEST_F(HistoryStoreTest, Open_AfterWriterVanished_ListsAsInterruptedWithResumableStep) {
  std::string id, without;
  {
    HistoryStore store(home());
    auto writer = store.create_run(info("a"));
    id = writer->id();
    writer->begin_session(1);
    writer->set_live({.state = RunStatus::Running});
    for (int64_t step = 1; step <= 30; ++step) writer->add_update(update(step));
    // On disk are 10 and 20, which the catalogue was not told of; 30 was begun only.
    for (const int64_t step : {10, 20, 30}) {
      const auto folder = writer->folder() / checkpoint_relative_path(step);
      std::filesystem::create_directories(folder);
      std::ofstream(folder / "weights.bin") << "12345";
      if (step < 30) std::ofstream(folder / "manifest.json") << "{}";
    }
    writer->add_checkpoint({.step = 30, .path = "checkpoints/30", .bytes = 5, .complete = false});
    writer->flush();
    without = store.create_run(info("b"))->id();
    const int64_t request = store.post_command(id, CommandKind::Pause);
    EXPECT_EQ(store.summary(id).status, RunStatus::Running);
    EXPECT_TRUE(store.repair_interrupted() == std::vector<std::string>{without})
        << "the live run must be left alone";
    EXPECT_FALSE(store.command(request).answered_ms);
  }  // the writer goes without finish(), as in a crash
  HistoryStore store(home());
  const RunSummary run = store.summary(id);
  EXPECT_EQ(run.status, RunStatus::Interrupted);
  EXPECT_THAT(run.status_reason, HasSubstr("resumable at step 20"));
  EXPECT_EQ(run.last_checkpoint_step, 20);
  const std::vector<CheckpointRow> checkpoints = store.checkpoints(id);
  ASSERT_EQ(checkpoints.size(), 3u) << "what is there is listed, whatever the process had time to say";
  EXPECT_EQ(checkpoints[0].step, 10);
  EXPECT_EQ(checkpoints[1].path, "checkpoints/step-00000020");
  EXPECT_EQ(checkpoints[1].bytes, 5);
  EXPECT_NEAR(static_cast<double>(checkpoints[1].created_ms), static_cast<double>(wall_clock_ms()), 60'000);
  EXPECT_EQ(run.step, 30);
  EXPECT_TRUE(run.finished_ms);
  EXPECT_THAT(store.summary(without).status_reason, HasSubstr("before the first checkpoint"));
  EXPECT_TRUE(store.command(1).answered_ms) << "nobody may wait for a dead process";
  EXPECT_FALSE(store.command(1).done);
  EXPECT_FALSE(std::filesystem::exists(store.run_folder(id) / "reserve"));
}

TEST_F(HistoryStoreTest, Open_ManyAtOnceOnAFreshHome_AllSucceed) {
  std::vector<std::thread> threads;
  std::atomic<int> runs = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      try {
        HistoryStore store(home());
        store.create_run(info("x"))->finish(RunStatus::Finished, "");
        ++runs;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 8);
  EXPECT_EQ(HistoryStore(home()).list().size(), 8u);
}

TEST_F(HistoryStoreTest, Open_HomeIsAFile_SaysSo) {
  std::ofstream(scratch() / "file") << "x";
  error_of(ErrorCode::Io, [&] { HistoryStore store(scratch() / "file"); });
  error_of(ErrorCode::Io, [&] { HistoryStore store(scratch() / "file" / "below"); });
}

}  // namespace
}  // namespace lathe
