// The catalogue of metrics: what each number means, its unit, and how it is drawn by default (metrics.def
// lists them).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

// The kinds of rows in run.db; each metric belongs to one.
enum class MetricTable { Updates, Evaluations, Groups, Telemetry };

// What a chart may put on its x axis; every row of every table carries all four.
enum class Axis { Step, Tokens, WallTime, ActiveTime };

struct MetricInfo {
  MetricTable table;
  std::string_view key;    // column name; unique over all tables
  std::string_view unit;   // "" for plain numbers
  std::string_view label;  // unique, says what kind of number it is (nominal, valid, planned, process, …)
  std::string_view definition;  // one sentence
  double smoothing;             // default weight of the moving average, 0: raw
  std::string_view group;
  Axis default_axis;
};

struct AxisInfo {
  Axis axis;
  std::string_view key;     // "step", "tokens", "wall", "active"
  std::string_view column;  // column in every table of run.db
  std::string_view unit;    // unit of the stored numbers: updates, tokens, ms since 1970 (UTC), ms
  std::string_view label;
};

// All metrics, in the order of metrics.def.
std::span<const MetricInfo> metrics();
// Those of one kind of row, in the same order.
std::span<const MetricInfo> metrics(MetricTable table);
std::span<const AxisInfo> axes();

// Throws Error NotFound naming the nearest key.
const MetricInfo& metric(std::string_view key);
const AxisInfo& axis_info(Axis axis);
// Throws Error InvalidArgument listing the choices.
Axis parse_axis(std::string_view key);

// Table name in run.db and on the command line: "updates", "evaluations", "groups", "telemetry".
std::string_view table_name(MetricTable table);
// What a row of the table is split by besides the step: "" (nothing), "set" (validation set), "group"
// (parameter group).
std::string_view part_column(MetricTable table);
// Whether the table is stored per 64 and 4096 rows too: updates and telemetry, the two that grow large.
bool has_levels(MetricTable table);

// Where a row stands on every axis.
struct RowPosition {
  int64_t step = 0;     // updates done, 1 after the first one
  int64_t tokens = 0;   // positions the run has consumed so far (all of them: nominal)
  int64_t time_ms = 0;  // wall clock, ms since 1970 (UTC); 0: the writer stamps the moment it gets the row
  int64_t active_ms =
      0;  // time the run has spent training over all sessions: pauses and the gaps between sessions left out
};

// One value of a row: nothing when it wasn't measured; NaN and infinity are values and survive storing.
using MetricValue = std::optional<double>;

// The rows: one field per metric of the table, named by its key.
#define LATHE_METRIC_FIELD(key, ...) MetricValue key;

struct UpdateRow : RowPosition {
#define UPDATE_METRIC LATHE_METRIC_FIELD
#include "core/history/metrics.def"
};

struct EvaluationRow : RowPosition {
  std::string set;  // validation set
#define EVALUATION_METRIC LATHE_METRIC_FIELD
#include "core/history/metrics.def"
};

// Norms of one parameter group, every N updates.
struct GroupRow : RowPosition {
  std::string group;  // parameter group
#define GROUP_METRIC LATHE_METRIC_FIELD
#include "core/history/metrics.def"
};

struct TelemetryRow : RowPosition {
#define TELEMETRY_METRIC LATHE_METRIC_FIELD
#include "core/history/metrics.def"
};

#undef LATHE_METRIC_FIELD

}  // namespace lathe
