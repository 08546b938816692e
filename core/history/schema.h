// The tables of history.db and run.db, and how older files become current ones.
//
// PRAGMA application_id tells a history from any other database, PRAGMA user_version counts the migrations a
// file has been through. Tables of metrics follow the catalogue of metrics instead: a missing column is added
// whenever a run is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "core/history/metrics.h"
#include "core/history/sqlite.h"

namespace lathe {

struct Schema {
  const char* what;  // "catalogue" or "run file", for messages
  int32_t application_id;
  std::span<const char* const> migrations;  // statements that lead from version i to i + 1
};

const Schema& catalogue_schema();
const Schema& run_schema();

// Opens a database of that schema and brings it to the current version, in one transaction. Errors:
// CorruptFile for a damaged file or another program's; Unsupported when a newer Lathe wrote it; NotFound as
// Database.
std::unique_ptr<Database> open_database(const std::filesystem::path& file, Database::Mode mode,
                                        const Schema& schema);

// Rows a stored bucket stands for, besides the rows themselves.
inline constexpr int64_t level_rows[] = {64, 4096};

// "updates", or "updates_64" for a level of detail.
std::string level_table(MetricTable table, int64_t rows);

// Makes the tables of metrics and adds columns for metrics newer than the file.
void ensure_metric_tables(const Database& run);

}  // namespace lathe
