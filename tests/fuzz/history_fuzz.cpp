// Damaged histories under the fuzzer: an Error or some numbers, never a crash, a hang, or a sanitizer's
// report.
#include <sstream>

#include "core/history/export.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

// Everything a window or an export would read. Returns how many rows that was.
std::string read_everything(const std::filesystem::path& folder) {
  const RunReader reader(folder);
  int64_t rows = 0;
  reader.generation();
  reader.data_version();
  for (const MetricTable table :
       {MetricTable::Updates, MetricTable::Evaluations, MetricTable::Groups, MetricTable::Telemetry}) {
    rows += reader.row_count(table);
    reader.parts(table);
    reader.resolution_for(table, 10);
  }
  reader.series({.metrics = {"loss", "lr"}});
  reader.series({.metrics = {"loss"}, .resolution = Resolution::Rows64});
  reader.live();
  for (const std::string& table : export_tables()) {
    std::ostringstream out;
    export_csv(reader, table, out);
  }
  return std::to_string(rows) + " rows";
}

class HistoryFuzz : public HistoryTest {
 protected:
  HistoryFuzz() : HistoryTest(testing::fuzz_folder()) {}

  // A small run of two sessions with a row of every kind.
  std::string make_run(HistoryStore& store) {
    auto writer = store.create_run(info("fuzz"));
    writer->begin_session(1);
    for (int64_t step = 1; step <= 80; ++step) writer->add_update(update(step, step == 7 ? nan : 1.0));
    writer->begin_session(60);
    writer->add_update(update(60));
    EvaluationRow evaluation;
    evaluation.set = "validation";
    evaluation.eval_loss = 1;
    writer->add_evaluation(evaluation);
    writer->add_group_stats({});
    writer->add_telemetry({});
    writer->add_event(EventLevel::Warning, "text");
    writer->add_sample(60, "prompt", "text");
    writer->set_live({.state = RunStatus::Running});
    writer->add_checkpoint({.step = 50, .path = "c", .complete = true});
    writer->finish(RunStatus::Stopped, "");
    return writer->id();
  }
};

TEST_F(HistoryFuzz, RunFile_Mutated_IsReadOrRefused) {
  HistoryStore store(home());
  const std::string bytes = read_file(store.run_folder(make_run(store)) / "run.db");
  const auto folder = scratch() / "run";
  std::filesystem::create_directory(folder);
  testing::fuzz("run-db", {bytes},
                [&](const std::string& input) {
                  for (const char* name : {"run.db-wal", "run.db-shm", "run.db-journal"})
                    std::filesystem::remove(folder / name);
                  write(folder / "run.db", input);
                  return read_everything(folder);
                },
                {.words = {"nan", "updates", "visible"}, .most_bytes = size_t{1} << 20});
}

// The log beside the file is what a killed writer leaves.
TEST_F(HistoryFuzz, WriteAheadLog_Mutated_IsReadOrRefused) {
  HistoryStore store(home());
  auto writer = store.create_run(info("wal"));
  writer->begin_session(1);
  for (int64_t step = 1; step <= 40; ++step) writer->add_update(update(step));
  writer->flush();
  const std::string file = read_file(writer->folder() / "run.db"),
                    log = read_file(writer->folder() / "run.db-wal");
  const auto folder = scratch() / "run";
  std::filesystem::create_directory(folder);
  testing::fuzz("run-db-wal", {log},
                [&](const std::string& input) {
                  std::filesystem::remove(folder / "run.db-shm");
                  write(folder / "run.db", file);
                  write(folder / "run.db-wal", input);
                  return read_everything(folder);
                },
                {.most_bytes = size_t{1} << 20});
}

TEST_F(HistoryFuzz, Catalogue_Mutated_IsReadOrRefused) {
  std::string bytes, id;
  {
    HistoryStore store(home());
    id = make_run(store);
    store.add_tag(id, "tag");
  }
  bytes = read_file(home() / "history.db");
  testing::fuzz("history-db", {bytes},
                [&](const std::string& input) {
                  for (const char* name : {"history.db-wal", "history.db-shm", "history.db-journal"})
                    std::filesystem::remove(home() / name);
                  write(home() / "history.db", input);
                  HistoryStore store(home());
                  for (const RunSummary& run : store.list({.archived = true})) {
                    store.details(run.id);
                    store.checkpoints(run.id);
                  }
                  store.find("last");
                  store.rename(id, "again");
                },
                {.words = {"running", "finished"}, .most_bytes = size_t{1} << 20});
}

}  // namespace
}  // namespace lathe
