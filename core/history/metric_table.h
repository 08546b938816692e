// Writes one kind of row (updates, evaluations, groups or telemetry) of a run.db, its levels of detail with
// it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/history/level_of_detail.h"
#include "core/history/metrics.h"
#include "core/history/schema.h"
#include "core/history/sqlite.h"

namespace lathe {

// The fields of a row in the catalogue's order.
inline auto metric_values(const UpdateRow& row) {
  return std::to_array<MetricValue>({
#define UPDATE_METRIC(key, ...) row.key,
#include "core/history/metrics.def"
  });
}
inline auto metric_values(const EvaluationRow& row) {
  return std::to_array<MetricValue>({
#define EVALUATION_METRIC(key, ...) row.key,
#include "core/history/metrics.def"
  });
}
inline auto metric_values(const GroupRow& row) {
  return std::to_array<MetricValue>({
#define GROUP_METRIC(key, ...) row.key,
#include "core/history/metrics.def"
  });
}
inline auto metric_values(const TelemetryRow& row) {
  return std::to_array<MetricValue>({
#define TELEMETRY_METRIC(key, ...) row.key,
#include "core/history/metrics.def"
  });
}

// What splits the rows of the table besides the step.
inline std::string_view part_of(const UpdateRow&) {
  return {};
}
inline std::string_view part_of(const EvaluationRow& row) {
  return row.set;
}
inline std::string_view part_of(const GroupRow& row) {
  return row.group;
}
inline std::string_view part_of(const TelemetryRow&) {
  return {};
}

class MetricTableWriter {
 public:
  // Continues behind the rows that are there.
  MetricTableWriter(const Database& run, MetricTable table);

  // What changes as rows come; a copy taken before a transaction undoes what a rolled-back one did.
  struct State {
    int64_t next_seq = 1;
    std::array<Bucket, std::size(level_rows)> open;
  };
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

  // All of these belong inside a transaction.

  // Hides rows of older sessions from `first_step` on and opens the range of `session`.
  void begin_session(int64_t session, int64_t first_step);
  void add(int64_t session, const RowPosition& position, std::string_view part,
           std::span<const MetricValue> values);
  // Stores the buckets that are still open: to be called before every commit that follows an add.
  void store_open_buckets();

 private:
  void store(const Bucket& bucket, size_t level);
  void cut_bucket(size_t level, int64_t session, int64_t last_visible_seq);

  const Database& run_;
  MetricTable table_;
  std::string name_;
  State state_;
  std::string insert_sql_;
  std::array<std::string, std::size(level_rows)> store_sql_;
  bool open_changed_ = false;
};

}  // namespace lathe
