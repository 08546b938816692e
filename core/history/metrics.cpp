#include "core/history/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/api/error.h"

namespace lathe {
namespace {

constexpr auto all_metrics = std::to_array<MetricInfo>({
#define LATHE_METRIC_INFO(table, key, unit, label, definition, smoothing, group) \
  {MetricTable::table, #key, unit, label, definition, smoothing, group, Axis::Step},
#define UPDATE_METRIC(...) LATHE_METRIC_INFO(Updates, __VA_ARGS__)
#define EVALUATION_METRIC(...) LATHE_METRIC_INFO(Evaluations, __VA_ARGS__)
#define GROUP_METRIC(...) LATHE_METRIC_INFO(Groups, __VA_ARGS__)
// What the machine does is a matter of time, not of steps.
#define TELEMETRY_METRIC(key, unit, label, definition, smoothing, group) \
  {MetricTable::Telemetry, #key, unit, label, definition, smoothing, group, Axis::WallTime},
#include "core/history/metrics.def"
#undef LATHE_METRIC_INFO
});

constexpr auto all_axes = std::to_array<AxisInfo>({
    {Axis::Step, "step", "step", "updates", "Step"},
    {Axis::Tokens, "tokens", "tokens", "tokens", "Tokens consumed"},
    {Axis::WallTime, "wall", "time_ms", "ms", "Wall time"},
    {Axis::ActiveTime, "active", "active_ms", "ms", "Active time"},
});

// Fewest single-character edits that turn one key into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::span<const MetricInfo> metrics() {
  return all_metrics;
}

std::span<const MetricInfo> metrics(MetricTable table) {
  const auto in_table = [table](const MetricInfo& info) { return info.table == table; };
  const auto first = std::ranges::find_if(all_metrics, in_table);
  const auto last = std::find_if_not(first, all_metrics.end(), in_table);
  return {first, last};
}

std::span<const AxisInfo> axes() {
  return all_axes;
}

const MetricInfo& metric(std::string_view key) {
  const auto found = std::ranges::find(all_metrics, key, &MetricInfo::key);
  if (found != all_metrics.end()) return *found;
  const auto nearest = std::ranges::min_element(
      all_metrics, {}, [key](const MetricInfo& info) { return edit_distance(key, info.key); });
  throw Error(ErrorCode::NotFound, fmt::format("There is no metric '{}'.", key),
              fmt::format("Did you mean '{}'?", nearest->key));
}

const AxisInfo& axis_info(Axis axis) {
  return *std::ranges::find(all_axes, axis, &AxisInfo::axis);
}

Axis parse_axis(std::string_view key) {
  const auto found = std::ranges::find(all_axes, key, &AxisInfo::key);
  if (found != all_axes.end()) return found->axis;
  throw Error(ErrorCode::InvalidArgument, fmt::format("There is no axis '{}'.", key),
              "Choose step, tokens, wall or active.");
}

std::string_view table_name(MetricTable table) {
  switch (table) {
    case MetricTable::Updates:
      return "updates";
    case MetricTable::Evaluations:
      return "evaluations";
    case MetricTable::Groups:
      return "groups";
    case MetricTable::Telemetry:
      return "telemetry";
  }
  return "updates";
}

std::string_view part_column(MetricTable table) {
  switch (table) {
    case MetricTable::Evaluations:
      return "validation_set";
    case MetricTable::Groups:
      return "parameter_group";
    default:
      return "";
  }
}

bool has_levels(MetricTable table) {
  return part_column(table).empty();
}

}  // namespace lathe
