#include "core/history/metric_table.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

namespace lathe {
namespace {

int bind_position(Statement& statement, int index, const RowPosition& position) {
  statement.bind(index++, position.step);
  statement.bind(index++, position.tokens);
  statement.bind(index++, position.time_ms);
  statement.bind(index++, position.active_ms);
  return index;
}

std::string insert_sql(std::string_view verb, std::string_view table,
                       const std::vector<std::string>& columns) {
  std::string names, marks;
  for (const std::string& column : columns) {
    names += (names.empty() ? "" : ", ") + column;
    marks += marks.empty() ? "?" : ", ?";
  }
  return fmt::format("{} INTO {} ({}) VALUES ({})", verb, table, names, marks);
}

}  // namespace

MetricTableWriter::MetricTableWriter(const Database& run, MetricTable table)
    : run_(run), table_(table), name_(table_name(table)) {
  state_.next_seq = run.integer(fmt::format("SELECT coalesce(max(seq), 0) + 1 FROM {}", name_));
  std::vector<std::string> columns = {"seq", "session", "step", "tokens", "time_ms", "active_ms"};
  if (!part_column(table).empty()) columns.emplace_back(part_column(table));
  for (const MetricInfo& info : metrics(table)) columns.emplace_back(info.key);
  insert_sql_ = insert_sql("INSERT", name_, columns);
  if (!has_levels(table)) return;
  columns = {"first_seq",       "last_seq", "session", "step_first", "tokens_first", "time_ms_first",
             "active_ms_first", "step",     "tokens",  "time_ms",    "active_ms"};
  for (const MetricInfo& info : metrics(table)) {
    for (const char* suffix : {"_min", "_max", "", "_bad"})
      columns.push_back(fmt::format("{}{}", info.key, suffix));
  }
  for (size_t level = 0; level < store_sql_.size(); ++level) {
    store_sql_[level] = insert_sql("INSERT OR REPLACE", level_table(table, level_rows[level]), columns);
  }
}

void MetricTableWriter::add(int64_t session, const RowPosition& position, std::string_view part,
                            std::span<const MetricValue> values) {
  const int64_t seq = state_.next_seq++;
  Statement& insert = run_.cached(insert_sql_);
  insert.bind(1, seq).bind(2, session);
  int index = bind_position(insert, 3, position);
  if (!part_column(table_).empty()) insert.bind(index++, part);
  for (const MetricValue& value : values) insert.bind_value(index++, value);
  insert.run();
  if (!has_levels(table_)) return;
  for (size_t level = 0; level < state_.open.size(); ++level) {
    Bucket& bucket = state_.open[level];
    bucket.add(seq, session, position, values);
    if (bucket.rows == level_rows[level]) {
      store(bucket, level);
      bucket = {};
    }
  }
  open_changed_ = true;
}

void MetricTableWriter::store_open_buckets() {
  if (!open_changed_) return;
  for (size_t level = 0; level < state_.open.size(); ++level) {
    if (state_.open[level].rows > 0) store(state_.open[level], level);
  }
  open_changed_ = false;
}

void MetricTableWriter::store(const Bucket& bucket, size_t level) {
  Statement& statement = run_.cached(store_sql_[level]);
  statement.bind(1, bucket.first_seq).bind(2, bucket.last_seq).bind(3, bucket.session);
  int index = bind_position(statement, 4, bucket.first);
  index = bind_position(statement, index, bucket.last);
  for (const BucketColumn& column : bucket.columns) {
    statement.bind_value(index, column.min).bind_value(index + 1, column.max);
    statement.bind_value(index + 2, column.last).bind(index + 3, column.non_finite);
    index += 4;
  }
  statement.run();
}

void MetricTableWriter::begin_session(int64_t session, int64_t first_step) {
  struct Range {
    int64_t session, first_seq, last_seq;
  };
  std::vector<Range> ranges;
  Statement visible = run_.prepare("SELECT session, first_seq, last_seq FROM visible WHERE table_name = ?");
  visible.bind(1, std::string_view(name_));
  while (visible.step()) ranges.push_back({visible.integer(0), visible.integer(1), visible.integer(2)});

  Statement superseded = run_.prepare(
      fmt::format("SELECT seq FROM {} WHERE seq BETWEEN ? AND ? AND step >= ? ORDER BY seq LIMIT 1", name_));
  Statement shrink = run_.prepare("UPDATE visible SET last_seq = ? WHERE table_name = ? AND session = ?");
  for (const Range& range : ranges) {
    // Ranges of old sessions end where their rows do.
    int64_t last_seq = std::min(range.last_seq, state_.next_seq - 1);
    superseded.reset();
    superseded.bind(1, range.first_seq).bind(2, last_seq).bind(3, first_step);
    const bool cut = superseded.step();
    if (cut) last_seq = superseded.integer(0) - 1;
    if (last_seq == range.last_seq) continue;
    shrink.bind(1, last_seq).bind(2, std::string_view(name_)).bind(3, range.session);
    shrink.run();
    if (!cut || !has_levels(table_)) continue;
    for (size_t level = 0; level < state_.open.size(); ++level) cut_bucket(level, range.session, last_seq);
  }
  // A bucket never spans two sessions: those still open have been stored as they are.
  state_.open = {};
  open_changed_ = false;
  Statement open =
      run_.prepare("INSERT INTO visible (table_name, session, first_seq, last_seq) VALUES (?, ?, ?, ?)");
  open.bind(1, std::string_view(name_)).bind(2, session).bind(3, state_.next_seq);
  open.bind(4, std::numeric_limits<int64_t>::max()).run();
}

// Buckets behind the cut fall out of the visible range by themselves; the one the cut goes through is made
// again from the rows before it.
void MetricTableWriter::cut_bucket(size_t level, int64_t session, int64_t last_visible_seq) {
  Statement find =
      run_.prepare(fmt::format("SELECT first_seq FROM {} WHERE first_seq <= ? AND last_seq > ? AND session = "
                               "? ORDER BY first_seq DESC LIMIT 1",
                               level_table(table_, level_rows[level])));
  find.bind(1, last_visible_seq).bind(2, last_visible_seq).bind(3, session);
  if (!find.step()) return;
  std::string sql = "SELECT seq, step, tokens, time_ms, active_ms";
  for (const MetricInfo& info : metrics(table_)) sql += fmt::format(", {}", info.key);
  Statement rows = run_.prepare(fmt::format("{} FROM {} WHERE seq BETWEEN ? AND ? ORDER BY seq", sql, name_));
  rows.bind(1, find.integer(0)).bind(2, last_visible_seq);
  Bucket bucket;
  std::vector<MetricValue> values(metrics(table_).size());
  while (rows.step()) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = rows.value(static_cast<int>(5 + i));
    bucket.add(rows.integer(0), session, {rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4)},
               values);
  }
  find.reset();
  if (bucket.rows > 0) store(bucket, level);
}

}  // namespace lathe
