#include "core/history/schema.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

// Columns a list shows come first and the long texts last, so that listing never reads their overflow pages.
constexpr const char* catalogue_migrations[] = {
    R"(
CREATE TABLE run (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  status_reason TEXT NOT NULL DEFAULT '',
  created_ms INTEGER NOT NULL,
  started_ms INTEGER,
  finished_ms INTEGER,
  step INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  active_ms INTEGER NOT NULL DEFAULT 0,
  best_loss REAL,
  last_loss REAL,
  last_eval_loss REAL,
  tokens_per_s REAL,
  predicted_tokens_per_s REAL,
  planned_peak_bytes INTEGER,
  measured_peak_bytes INTEGER,
  parent_run TEXT,
  parent_step INTEGER,
  archived INTEGER NOT NULL DEFAULT 0,
  device TEXT NOT NULL DEFAULT '',
  memory_source TEXT NOT NULL DEFAULT '',
  sparkline BLOB,
  notes TEXT NOT NULL DEFAULT '',
  versions_json TEXT NOT NULL DEFAULT '',
  settings_json TEXT NOT NULL DEFAULT ''
);
CREATE INDEX run_by_creation ON run(created_ms, id);
CREATE INDEX run_by_name ON run(name);
CREATE INDEX run_by_status ON run(status);
CREATE TABLE setting (
  run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE TABLE tag (
  run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (run, tag)
) WITHOUT ROWID;
CREATE TABLE checkpoint (
  run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  path TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  complete INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  PRIMARY KEY (run, step)
) WITHOUT ROWID;
CREATE TABLE command (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  argument TEXT NOT NULL,
  posted_ms INTEGER NOT NULL,
  answered_ms INTEGER,
  done INTEGER NOT NULL DEFAULT 0,
  answer TEXT NOT NULL DEFAULT ''
);
CREATE INDEX command_by_run ON command(run, answered_ms);
)",
};

// `visible` holds, for every session and table, which rows of the session a later one didn't supersede: they
// are a range, as steps grow within a session.
constexpr const char* run_migrations[] = {
    R"(
CREATE TABLE file (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  run TEXT NOT NULL,
  generation INTEGER NOT NULL
);
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  started_ms INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  visible_before INTEGER NOT NULL,
  process INTEGER NOT NULL,
  host TEXT NOT NULL
);
CREATE TABLE visible (
  table_name TEXT NOT NULL,
  session INTEGER NOT NULL REFERENCES session(id),
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (table_name, session)
) WITHOUT ROWID;
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE TABLE sample (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  prompt TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE TABLE live (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  state TEXT NOT NULL,
  phase TEXT NOT NULL,
  step INTEGER NOT NULL,
  micro_step INTEGER NOT NULL,
  micro_steps INTEGER NOT NULL,
  eta_ms INTEGER,
  heartbeat_ms INTEGER NOT NULL
);
)",
};

// Columns of a table of metrics: name and type, the primary key first.
using Columns = std::vector<std::pair<std::string, std::string>>;

Columns raw_columns(MetricTable table) {
  Columns columns = {{"seq", "INTEGER PRIMARY KEY"}, {"session", "INTEGER NOT NULL"}};
  for (const AxisInfo& axis : axes()) columns.emplace_back(axis.column, "INTEGER NOT NULL");
  if (!part_column(table).empty()) columns.emplace_back(part_column(table), "TEXT NOT NULL");
  for (const MetricInfo& info : metrics(table)) columns.emplace_back(info.key, "REAL");
  return columns;
}

Columns level_columns(MetricTable table) {
  Columns columns = {{"first_seq", "INTEGER PRIMARY KEY"},
                     {"last_seq", "INTEGER NOT NULL"},
                     {"session", "INTEGER NOT NULL"}};
  for (const AxisInfo& axis : axes()) {
    columns.emplace_back(fmt::format("{}_first", axis.column), "INTEGER NOT NULL");
    columns.emplace_back(axis.column, "INTEGER NOT NULL");
  }
  for (const MetricInfo& info : metrics(table)) {
    columns.emplace_back(fmt::format("{}_min", info.key), "REAL");
    columns.emplace_back(fmt::format("{}_max", info.key), "REAL");
    columns.emplace_back(info.key, "REAL");
    columns.emplace_back(fmt::format("{}_bad", info.key), "INTEGER");
  }
  return columns;
}

void ensure_table(const Database& run, const std::string& name, const Columns& columns) {
  std::set<std::string> present;
  Statement existing = run.prepare("SELECT name FROM pragma_table_info(?)");
  existing.bind(1, name);
  while (existing.step()) present.insert(existing.text(0));
  if (present.empty()) {
    std::string sql = fmt::format("CREATE TABLE {} (", name);
    for (size_t i = 0; i < columns.size(); ++i) {
      sql += fmt::format("{}{} {}", i ? ", " : "", columns[i].first, columns[i].second);
    }
    run.execute((sql + ")").c_str());
    return;
  }
  for (const auto& [column, type] : columns) {
    if (present.contains(column)) continue;
    run.execute(fmt::format("ALTER TABLE {} ADD COLUMN {} {}", name, column, type).c_str());
  }
}

// WAL is a property of the file; it can't be set inside a transaction, and needs the file alone for a moment.
// SQLite refuses that at once, without its busy timeout, while another process opens the new file, too.
void turn_on_wal(const Database& database) {
  const auto deadline = std::chrono::steady_clock::now() + Database::busy_timeout;
  for (;;) {
    try {
      database.execute("PRAGMA journal_mode = WAL");
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Busy || std::chrono::steady_clock::now() > deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

}  // namespace

const Schema& catalogue_schema() {
  static constexpr Schema schema = {"catalogue of runs", 0x4C746843, catalogue_migrations};  // "LthC"
  return schema;
}

const Schema& run_schema() {
  static constexpr Schema schema = {"run file", 0x4C746852, run_migrations};  // "LthR"
  return schema;
}

std::unique_ptr<Database> open_database(const std::filesystem::path& file, Database::Mode mode,
                                        const Schema& schema) {
  auto database = std::make_unique<Database>(file, mode);
  const auto current = static_cast<int64_t>(schema.migrations.size());
  const bool writes = mode != Database::Mode::Read;
  // A file that is new, or whose maker died before its first commit, is empty: version 0, no id, no tables.
  const auto check = [&] {
    const int64_t id = database->integer("PRAGMA application_id");
    const int64_t version = database->integer("PRAGMA user_version");
    const bool empty =
        id == 0 && version == 0 && database->integer("SELECT count(*) FROM sqlite_schema") == 0;
    if (empty && mode == Database::Mode::Create) return version;
    if (id != schema.application_id || version < 1) {
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("{} is a database, but not a {} of Lathe.", to_utf8(file), schema.what),
                  "Move it away, or name another home folder (--home or LATHE_HOME).");
    }
    if (version > current) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} has format {}; this Lathe knows formats up to {}.", to_utf8(file), version,
                              current),
                  "A newer Lathe wrote it: update Lathe, or use another home folder. Nothing was changed.");
    }
    return version;
  };
  // Read in one transaction: another process may be making the file at this very moment.
  database->execute("BEGIN");
  const int64_t found = check();
  database->execute("COMMIT");
  if (found != current) {
    if (!writes) {
      open_database(file, Database::Mode::Write, schema);
      return open_database(file, mode, schema);
    }
    turn_on_wal(*database);
    Transaction transaction(*database);
    // Another process may have done it between the look and the lock.
    for (int64_t version = check(); version < current; ++version) {
      database->execute(schema.migrations[static_cast<size_t>(version)]);
    }
    database->execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", schema.application_id, current)
            .c_str());
    transaction.commit();
  }
  // After a crash of the process nothing committed is lost; after a power cut perhaps the last commits, never
  // the file.
  if (writes) database->execute("PRAGMA synchronous = NORMAL");
  return database;
}

std::string level_table(MetricTable table, int64_t rows) {
  return rows == 1 ? std::string(table_name(table)) : fmt::format("{}_{}", table_name(table), rows);
}

void ensure_metric_tables(const Database& run) {
  Transaction transaction(run);
  for (const MetricTable table :
       {MetricTable::Updates, MetricTable::Evaluations, MetricTable::Groups, MetricTable::Telemetry}) {
    ensure_table(run, level_table(table, 1), raw_columns(table));
    if (!has_levels(table)) continue;
    for (const int64_t rows : level_rows) ensure_table(run, level_table(table, rows), level_columns(table));
  }
  transaction.commit();
}

}  // namespace lathe
