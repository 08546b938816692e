// A foreign table into the history: rows of one step merged, steps that go back as sessions of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/history/foreign_log.h"
#include "core/history/history_store.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

// Where a metric's value goes in its row.
MetricValue* update_field(UpdateRow& row, std::string_view key) {
#define UPDATE_METRIC(name, ...) \
  if (key == #name) return &row.name;
#include "core/history/metrics.def"
  return nullptr;
}

MetricValue* evaluation_field(EvaluationRow& row, std::string_view key) {
#define EVALUATION_METRIC(name, ...) \
  if (key == #name) return &row.name;
#include "core/history/metrics.def"
  return nullptr;
}

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorCode::InvalidArgument, what, advice);
}

// Where whole numbers of a log end: doubles are exact below, and sums of two of them are far from overflow.
constexpr double most = 9e15;

int64_t clamped(double value) {
  return static_cast<int64_t>(std::clamp(value, 0.0, most));
}

// The mapping, checked and by target.
std::map<std::string, ForeignMapping::Column> checked(const ForeignTable& table,
                                                      const ForeignMapping& mapping) {
  std::map<std::string, ForeignMapping::Column> by_target;
  bool metric_mapped = false;
  for (const ForeignMapping::Column& column : mapping.columns) {
    if (column.column >= table.columns.size()) refuse("The mapping names a column that doesn't exist.", {});
    const auto known = std::ranges::find(foreign_targets(), column.target, &ForeignTarget::key);
    if (known == foreign_targets().end()) {
      refuse(fmt::format("'{}' is nothing a column can stand for.", column.target),
             "Choose one of the list.");
    }
    if (!std::isfinite(column.factor)) refuse("A factor must be a number.", {});
    if (!by_target.emplace(column.target, column).second) {
      refuse(fmt::format("Two columns stand for {}.", known->label), "Leave one of them out.");
    }
    UpdateRow update;
    EvaluationRow evaluation;
    metric_mapped = metric_mapped || update_field(update, column.target) != nullptr ||
                    evaluation_field(evaluation, column.target) != nullptr;
  }
  if (!metric_mapped) {
    refuse("No column stands for a metric, so the run would be empty.",
           "Say which column is the training loss.");
  }
  return by_target;
}

class Importer {
 public:
  Importer(const ForeignTable& table, const ForeignMapping& mapping)
      : table_(table), mapping_(mapping), columns_(checked(table, mapping)) {
    order_.resize(static_cast<size_t>(table.rows));
    std::iota(order_.begin(), order_.end(), size_t{0});
    constexpr int most_sessions = 50;
    int descents = 0;
    int64_t previous = 0;
    for (const size_t row : order_) {
      const auto here = step(row);
      if (!here) continue;
      descents += *here < previous;
      previous = *here;
    }
    if (descents > most_sessions) {
      std::ranges::stable_sort(order_, {}, [&](size_t row) { return step(row).value_or(0); });
    }
  }

  int64_t write(RunWriter& writer, const std::function<bool(int64_t, int64_t)>& progress) {
    constexpr int64_t report_every = 4096;
    int64_t done = 0;
    for (const size_t row : order_) {
      if (progress && done % report_every == 0 && !progress(done, table_.rows)) {
        throw Error(ErrorCode::Cancelled, "The import was cancelled.", "Nothing was stored.");
      }
      ++done;
      const auto here = step(row);
      if (!here) continue;
      if (!started_ || *here < position_.step) {
        flush(writer);
        writer.begin_session(*here);
        started_ = true;
      } else if (*here > position_.step) {
        flush(writer);
      }
      position_.step = *here;
      take(row);
    }
    flush(writer);
    return written_;
  }

 private:
  MetricValue value(const std::string& target, size_t row) const {
    const auto found = columns_.find(target);
    if (found == columns_.end()) return std::nullopt;
    const MetricValue& value = table_.columns[found->second.column].values[row];
    return value ? MetricValue(*value * found->second.factor) : std::nullopt;
  }

  std::optional<int64_t> whole(const std::string& target, size_t row) const {
    const MetricValue number = value(target, row);
    if (!number || !(std::abs(*number) < most)) return std::nullopt;  // NaN too
    return static_cast<int64_t>(std::llround(*number));
  }

  std::optional<int64_t> step(size_t row) const {
    if (!columns_.contains("step")) return static_cast<int64_t>(row) + 1;
    const auto number = whole("step", row);
    return number && *number >= 0 ? number : std::nullopt;
  }

  void take(size_t row) {
    if (const auto tokens = whole("tokens", row)) {
      position_.tokens = *tokens;
    } else if (mapping_.tokens_per_step) {
      position_.tokens =
          clamped(static_cast<double>(position_.step) * static_cast<double>(*mapping_.tokens_per_step));
    }
    if (const auto time = whole("time", row)) {
      if (!first_time_) first_time_ = *time;
      position_.time_ms = *time;
    }
    if (position_.time_ms == 0) position_.time_ms = now_;
    for (const auto& [target, column] : columns_) {
      const MetricValue number = value(target, row);
      if (!number) continue;
      if (MetricValue* field = update_field(update_, target)) {
        *field = *number;
        has_update_ = true;
      } else if (MetricValue* other = evaluation_field(evaluation_, target)) {
        *other = *number;
        has_evaluation_ = true;
      }
    }
    if (const auto active = whole("active", row)) {
      position_.active_ms = *active;
    } else if (!columns_.contains("active")) {
      if (const auto step_ms = whole("step_ms", row)) {
        position_.active_ms =
            clamped(static_cast<double>(position_.active_ms) + std::max(0.0, static_cast<double>(*step_ms)));
      } else if (first_time_ && !columns_.contains("step_ms")) {
        position_.active_ms = std::max<int64_t>(0, position_.time_ms - *first_time_);
      }
    }
  }

  void flush(RunWriter& writer) {
    if (has_update_) {
      static_cast<RowPosition&>(update_) = position_;
      if (!update_.tokens_per_s && mapping_.tokens_per_step && update_.step_ms && *update_.step_ms > 0) {
        update_.tokens_per_s = static_cast<double>(*mapping_.tokens_per_step) * 1000 / *update_.step_ms;
      }
      writer.add_update(update_);
      ++written_;
    }
    if (has_evaluation_) {
      static_cast<RowPosition&>(evaluation_) = position_;
      evaluation_.set = "validation";
      writer.add_evaluation(evaluation_);
      ++written_;
    }
    update_ = {};
    evaluation_ = {};
    has_update_ = has_evaluation_ = false;
  }

  const ForeignTable& table_;
  const ForeignMapping& mapping_;
  std::map<std::string, ForeignMapping::Column> columns_;
  std::vector<size_t> order_;
  RowPosition position_;
  UpdateRow update_;
  EvaluationRow evaluation_;
  bool has_update_ = false, has_evaluation_ = false, started_ = false;
  std::optional<int64_t> first_time_;
  int64_t now_ = wall_clock_ms();
  int64_t written_ = 0;
};

}  // namespace

std::string import_foreign_log(HistoryStore& store, const ForeignTable& table, const ForeignMapping& mapping,
                               const ForeignRun& run, const std::function<bool(int64_t, int64_t)>& progress) {
  Importer importer(table, mapping);
  RunInfo info;
  info.name = run.name;
  info.notes = run.notes;
  info.tags = run.tags;
  if (std::ranges::find(info.tags, "imported") == info.tags.end()) info.tags.emplace_back("imported");
  info.device = "imported log";
  info.versions_json =
      nlohmann::ordered_json{{"imported_from", run.source}, {"format", foreign_format_name(table.format)}}
          .dump();
  std::unique_ptr<RunWriter> writer = store.create_run(info);
  const std::string id = writer->id();
  try {
    const int64_t rows = importer.write(*writer, progress);
    if (rows == 0) refuse("No row has both a step and a value.", "Map other columns.");
    writer->finish(RunStatus::Finished, fmt::format("Imported from {}: {} rows.", run.source, rows));
    writer.reset();
  } catch (...) {
    writer.reset();
    store.delete_run(id);
    throw;
  }
  return id;
}

}  // namespace lathe
