// The two ways to read numbers: scan() walks stored rows, series() makes columns of points for charts.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/history/run_reader.h"
#include "core/history/schema.h"
#include "core/history/sqlite.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

// Everything read under it is of one moment. Readers never block the writer in WAL.
class Snapshot {
 public:
  explicit Snapshot(const Database& database) : database_(database) { database.execute("BEGIN"); }
  ~Snapshot() {
    try {
      database_.execute("COMMIT");
    } catch (const Error&) {
      // Nothing was written: there is nothing to lose, and SQLite has ended it already.
    }
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  const Database& database_;
};

std::set<std::string> columns_of(const Database& database, const std::string& table) {
  std::set<std::string> columns;
  Statement statement = database.prepare("SELECT name FROM pragma_table_info(?)");
  statement.bind(1, std::string_view(table));
  while (statement.step()) columns.insert(statement.text(0));
  return columns;
}

// A metric younger than the file was never measured in it.
std::string column_or_null(const std::set<std::string>& present, const std::string& column) {
  return present.contains(column) ? column : "NULL";
}

MetricTable table_of(const std::vector<std::string>& keys) {
  if (keys.empty()) throw Error(ErrorCode::InvalidArgument, "A series needs at least one metric.");
  const MetricTable table = metric(keys.front()).table;
  for (const std::string& key : keys) {
    if (metric(key).table == table) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("'{}' and '{}' are metrics of different rows.", keys.front(), key),
                "Ask for them one by one.");
  }
  return table;
}

double on_axis(const RowPosition& position, Axis axis) {
  switch (axis) {
    case Axis::Step:
      return static_cast<double>(position.step);
    case Axis::Tokens:
      return static_cast<double>(position.tokens);
    case Axis::WallTime:
      return static_cast<double>(position.time_ms);
    case Axis::ActiveTime:
      return static_cast<double>(position.active_ms);
  }
  return 0;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void append(SeriesColumn& column, const MetricValue& last) {
  column.last.push_back(last.value_or(nan));
  column.present.push_back(last.has_value());
}

}  // namespace

void RunReader::scan(const RowScan& scan, const std::function<void(const StoredRow&)>& visit) const {
  const Snapshot snapshot(*database_);
  const std::string table = level_table(scan.table, 1);
  const std::set<std::string> present = columns_of(*database_, table);
  const std::string part(part_column(scan.table));
  std::string sql = "SELECT seq, session, step, tokens, time_ms, active_ms, " + (part.empty() ? "''" : part);
  std::vector<std::string> keys = scan.metrics;
  if (keys.empty()) {
    for (const MetricInfo& info : metrics(scan.table)) keys.emplace_back(info.key);
  } else if (table_of(keys) != scan.table) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("'{}' is no metric of {}.", keys.front(), table_name(scan.table)));
  }
  for (const std::string& key : keys) sql += ", " + column_or_null(present, key);
  sql += " FROM " + table + " WHERE seq BETWEEN ? AND ? AND step BETWEEN ? AND ?";
  if (!part.empty() && !scan.part.empty()) sql += " AND " + part + " = ?";
  Statement statement = database_->prepare(sql + " ORDER BY seq");

  const std::vector<VisibleRange> visible = visible_ranges(scan.table);
  std::vector<VisibleRange> ranges = visible;
  if (scan.superseded) ranges = {{1, std::numeric_limits<int64_t>::max()}};
  StoredRow row;
  row.values.resize(keys.size());
  auto current = visible.begin();
  for (const VisibleRange& range : ranges) {
    if (range.last_seq <= scan.after_seq) continue;
    statement.reset();
    statement.bind(1, std::max(range.first_seq, scan.after_seq + 1)).bind(2, range.last_seq);
    statement.bind(3, scan.first_step).bind(4, scan.last_step);
    if (!part.empty() && !scan.part.empty()) statement.bind(5, std::string_view(scan.part));
    while (statement.step()) {
      const int64_t previous = std::exchange(row.seq, statement.integer(0));
      if (row.seq <= previous) {
        throw Error(
            ErrorCode::CorruptFile,
            fmt::format("Row {} of {} follows row {} in {}.", row.seq, table, previous, to_utf8(folder_)),
            "The file is damaged: restore it from a backup. Checkpoints are separate files and not "
            "affected.");
      }
      row.session = statement.integer(1);
      row.position = {statement.integer(2), statement.integer(3), statement.integer(4), statement.integer(5)};
      if (!part.empty()) row.part = statement.text(6);
      for (size_t i = 0; i < keys.size(); ++i) row.values[i] = statement.value(static_cast<int>(7 + i));
      while (current != visible.end() && current->last_seq < row.seq) ++current;
      row.superseded = current == visible.end() || row.seq < current->first_seq;
      visit(row);
    }
  }
}

Series RunReader::series(const SeriesQuery& query) const {
  const MetricTable table = table_of(query.metrics);
  if (query.resolution != Resolution::Raw) return level_series(query, table);
  Series series;
  series.columns.resize(query.metrics.size());
  const bool parts = !part_column(table).empty();
  // Charts come back four times a second for a handful of rows, and once for all: only that one is worth
  // reserving for. A damaged file may claim any number.
  if (query.after_seq == 0) {
    const auto rows =
        static_cast<size_t>(std::min<int64_t>(row_count(table, query.superseded), int64_t{1} << 22));
    series.seq.reserve(rows);
    series.session.reserve(rows);
    series.x.reserve(rows);
    for (SeriesColumn& column : series.columns) {
      column.last.reserve(rows);
      column.present.reserve(rows);
    }
  }
  scan({table, query.metrics, query.part, query.after_seq, query.first_step, query.last_step,
        query.superseded},
       [&](const StoredRow& row) {
         series.seq.push_back(row.seq);
         series.session.push_back(row.session);
         series.x.push_back(on_axis(row.position, query.axis));
         if (parts) series.part.push_back(row.part);
         for (size_t i = 0; i < row.values.size(); ++i) append(series.columns[i], row.values[i]);
       });
  return series;
}

Series RunReader::level_series(const SeriesQuery& query, MetricTable table) const {
  if (!has_levels(table) || query.superseded) {
    throw Error(ErrorCode::InvalidArgument,
                query.superseded
                    ? "Superseded rows are stored one by one only."
                    : fmt::format("The rows of {} are stored one by one only.", table_name(table)),
                "Ask for the raw resolution.");
  }
  const Snapshot snapshot(*database_);
  const auto rows = static_cast<int64_t>(query.resolution);
  const std::string name = level_table(table, rows);
  const std::set<std::string> present = columns_of(*database_, name);
  const std::string axis(axis_info(query.axis).column);
  std::string sql = fmt::format("SELECT first_seq, last_seq, session, {0}_first, {0}", axis);
  for (const std::string& key : query.metrics) {
    for (const char* suffix : {"_min", "_max", "", "_bad"})
      sql += ", " + column_or_null(present, key + suffix);
  }
  // Nothing is indexed by last_seq, yet a bucket reaches at most `rows` rows beyond its first one.
  Statement statement = database_->prepare(sql + " FROM " + name +
                                           " WHERE first_seq BETWEEN ? AND ? AND last_seq > ? AND step >= ? "
                                           "AND step_first <= ? ORDER BY first_seq");
  Series series;
  series.columns.resize(query.metrics.size());
  for (const VisibleRange& range : visible_ranges(table)) {
    if (range.last_seq <= query.after_seq) continue;
    statement.reset();
    statement.bind(1, std::max(range.first_seq, query.after_seq - rows + 1)).bind(2, range.last_seq);
    statement.bind(3, query.after_seq).bind(4, query.first_step).bind(5, query.last_step);
    while (statement.step()) {
      series.first_seq.push_back(statement.integer(0));
      series.seq.push_back(statement.integer(1));
      series.session.push_back(statement.integer(2));
      series.x_first.push_back(static_cast<double>(statement.integer(3)));
      series.x.push_back(static_cast<double>(statement.integer(4)));
      for (size_t i = 0; i < query.metrics.size(); ++i) {
        const int base = static_cast<int>(5 + 4 * i);
        SeriesColumn& column = series.columns[i];
        column.min.push_back(statement.value(base).value_or(nan));
        column.max.push_back(statement.value(base + 1).value_or(nan));
        append(column, statement.value(base + 2));
        column.non_finite.push_back(statement.integer(base + 3));
      }
    }
  }
  return series;
}

}  // namespace lathe
