// Files of other ages and other makers: migrated, grown, or refused with advice.
#include <gmock/gmock.h>

#include <fstream>
#include <random>

#include "core/history/schema.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using HistorySchemaTest = HistoryTest;

constexpr const char* steps[] = {
    "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)",
    "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7",
    "CREATE TABLE b (z INTEGER); INSERT INTO b SELECT x + y FROM a",
};

Schema first(size_t migrations) {
  return {"test file", 0x1234, std::span(steps).first(migrations)};
}

TEST_F(HistorySchemaTest, Open_OlderVersion_RunsTheMissingMigrationsOnce) {
  const auto file = scratch() / "x.db";
  open_database(file, Database::Mode::Create, first(1))->execute("INSERT INTO a VALUES (10)");
  EXPECT_EQ(open_database(file, Database::Mode::Write, first(2))->integer("SELECT sum(y) FROM a"), 14);
  EXPECT_EQ(open_database(file, Database::Mode::Read, first(3))->integer("SELECT sum(z) FROM b"), 25);
  EXPECT_EQ(open_database(file, Database::Mode::Create, first(3))->integer("SELECT count(*) FROM b"), 2);
}

TEST_F(HistorySchemaTest, Open_FailingMigration_LeavesTheFileAsItWas) {
  const auto file = scratch() / "x.db";
  open_database(file, Database::Mode::Create, first(1));
  static constexpr const char* broken[] = {steps[0], "CREATE TABLE c (x); INSERT INTO nowhere VALUES (1)"};
  error_of(ErrorCode::CorruptFile, [&] {
    open_database(file, Database::Mode::Write, Schema{"test file", 0x1234, broken});
  });
  const auto database = open_database(file, Database::Mode::Write, first(1));
  EXPECT_EQ(database->integer("PRAGMA user_version"), 1);
  EXPECT_EQ(database->integer("SELECT count(*) FROM sqlite_schema WHERE name = 'c'"), 0);
}

TEST_F(HistorySchemaTest, Open_NewerVersion_RefusesWithAdviceAndChangesNothing) {
  HistoryStore{home()};
  Database(home() / "history.db", Database::Mode::Write).execute("PRAGMA user_version = 99");
  const Error error = error_of(ErrorCode::Unsupported, [&] { HistoryStore store(home()); });
  EXPECT_THAT(error.what_to_do(), HasSubstr("update Lathe"));
  EXPECT_THAT(error.what_happened(), HasSubstr("99"));
  EXPECT_EQ(Database(home() / "history.db", Database::Mode::Read).integer("PRAGMA user_version"), 99);
}

TEST_F(HistorySchemaTest, Open_ForeignDatabase_IsRefusedAndUntouched) {
  std::filesystem::create_directories(home());
  Database(home() / "history.db", Database::Mode::Create)
      .execute("CREATE TABLE photos (x); INSERT INTO photos VALUES (5)");
  error_of(ErrorCode::CorruptFile, [&] { HistoryStore store(home()); });
  const Database photos(home() / "history.db", Database::Mode::Read);
  EXPECT_EQ(photos.integer("SELECT x FROM photos"), 5);
  EXPECT_EQ(photos.integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(HistorySchemaTest, Open_RunFileAsCatalogue_IsRefused) {
  std::string id;
  {
    HistoryStore store(home());
    id = store.create_run(info("a"))->id();
    std::filesystem::copy_file(store.run_folder(id) / "run.db", scratch() / "copy.db");
  }
  error_of(ErrorCode::CorruptFile,
           [&] { open_database(scratch() / "copy.db", Database::Mode::Create, catalogue_schema()); });
}

TEST_F(HistorySchemaTest, Open_NotADatabase_IsRefused) {
  std::filesystem::create_directories(home());
  std::ofstream(home() / "history.db") << std::string(5000, 'x');
  error_of(ErrorCode::CorruptFile, [&] { HistoryStore store(home()); });
}

TEST_F(HistorySchemaTest, Open_CrashBeforeFirstCommit_StartsAgain) {
  std::filesystem::create_directories(home());
  std::ofstream(home() / "history.db").close();
  EXPECT_TRUE(HistoryStore(home()).list().empty());
}

// What happens when a metric is added to metrics.def: readers see older files as not measured, writers grow
// the columns.
TEST_F(HistorySchemaTest, Metrics_YoungerThanTheFile_AreMissingThenGrow) {
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  const std::string id = writer->id();
  writer->begin_session(1);
  for (int64_t step = 1; step <= 100; ++step) writer->add_update(update(step));
  writer->finish(RunStatus::Stopped, "");
  writer.reset();
  {
    const Database run(store.run_folder(id) / "run.db", Database::Mode::Write);
    run.execute(
        "ALTER TABLE updates DROP COLUMN grad_norm; ALTER TABLE updates_64 DROP COLUMN grad_norm_min");
  }
  const SeriesQuery raw{.metrics = {"grad_norm", "loss"}};
  SeriesQuery levels = raw;
  levels.resolution = Resolution::Rows64;
  {
    const auto reader = store.open_reader(id);
    EXPECT_EQ(reader->series(raw).columns[0].present[50], 0);
    EXPECT_EQ(reader->series(raw).columns[1].present[50], 1);
    EXPECT_TRUE(std::isnan(reader->series(levels).columns[0].min[0]));
  }
  writer = store.open_writer(id);
  writer->begin_session(101);
  writer->add_update(update(101));
  writer->flush();
  const Series series = store.open_reader(id)->series(raw);
  EXPECT_EQ(series.columns[0].present[50], 0);
  EXPECT_EQ(series.columns[0].last[100], 1.0 / 101);
}

// Random damage to a run file: an Error or some numbers, never a crash or a hang. The full campaign is
// history_fuzz_soak.
TEST_F(HistorySchemaTest, Read_DamagedRunFile_ThrowsOrReads) {
  constexpr unsigned seed = 7;
  RecordProperty("seed", static_cast<int>(seed));
  HistoryStore store(home());
  auto writer = store.create_run(info("a"));
  const std::string id = writer->id();
  writer->begin_session(1);
  for (int64_t step = 1; step <= 300; ++step) writer->add_update(update(step));
  writer->add_event(EventLevel::Info, "text");
  writer->finish(RunStatus::Stopped, "");
  writer.reset();
  const std::string good = read_file(store.run_folder(id) / "run.db");
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bytes = good;
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const auto folder = scratch() / "damaged";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "run.db", std::ios::binary) << bytes;
    try {
      const RunReader reader(folder);
      reader.scan({.table = MetricTable::Updates, .superseded = true}, [](const StoredRow&) {});
      reader.series({.metrics = {"loss"}, .resolution = Resolution::Rows64});
      reader.events();
      reader.samples();
      reader.live();
      reader.sessions();
      reader.row_count(MetricTable::Updates);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::Internal) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 20) << "damage should be noticed at least now and then";
}

}  // namespace
}  // namespace lathe
