#include "core/history/run_progress.h"

#include <algorithm>
#include <cmath>

#include "core/history/run_reader.h"

namespace lathe {

void Sparkline::add(double value) {
  open_sum_ += value;
  if (++open_rows_ < rows_per_point_) return;
  sums_.push_back(open_sum_);
  open_sum_ = 0;
  open_rows_ = 0;
  if (sums_.size() < capacity) return;
  for (size_t i = 0; i < capacity / 2; ++i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  sums_.resize(capacity / 2);
  rows_per_point_ *= 2;
}

std::vector<float> Sparkline::points() const {
  std::vector<float> points;
  points.reserve(sums_.size() + 1);
  for (const double sum : sums_)
    points.push_back(static_cast<float>(sum / static_cast<double>(rows_per_point_)));
  if (open_rows_ > 0) points.push_back(static_cast<float>(open_sum_ / static_cast<double>(open_rows_)));
  return points;
}

void RunProgress::add(const UpdateRow& row) {
  step = row.step;
  tokens = row.tokens;
  active_ms = row.active_ms;
  if (row.loss) {
    last_loss = row.loss;
    if (std::isfinite(*row.loss)) best_loss = std::min(best_loss.value_or(*row.loss), *row.loss);
    sparkline.add(*row.loss);
  }
  if (row.memory_process && std::isfinite(*row.memory_process)) {
    measured_peak_bytes =
        std::max(measured_peak_bytes.value_or(0), static_cast<int64_t>(*row.memory_process));
  }
  if (row.tokens_per_s && std::isfinite(*row.tokens_per_s)) {
    constexpr size_t window = 64;
    if (recent_tokens_per_s_.size() < window) {
      recent_tokens_per_s_.push_back(*row.tokens_per_s);
    } else {
      recent_tokens_per_s_[next_] = *row.tokens_per_s;
    }
    next_ = (next_ + 1) % window;
  }
}

void RunProgress::add(const EvaluationRow& row) {
  if (!row.eval_loss) return;
  if (!last_eval_loss) eval_set = row.set;
  if (row.set == eval_set) last_eval_loss = row.eval_loss;
}

std::optional<double> RunProgress::tokens_per_s() const {
  if (recent_tokens_per_s_.empty()) return std::nullopt;
  std::vector<double> values = recent_tokens_per_s_;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

RunProgress read_progress(const RunReader& reader) {
  RunProgress progress;
  reader.scan({.table = MetricTable::Updates, .metrics = {"loss", "memory_process", "tokens_per_s"}},
              [&](const StoredRow& stored) {
                UpdateRow row;
                static_cast<RowPosition&>(row) = stored.position;
                row.loss = stored.values[0];
                row.memory_process = stored.values[1];
                row.tokens_per_s = stored.values[2];
                progress.add(row);
              });
  reader.scan({.table = MetricTable::Evaluations, .metrics = {"eval_loss"}}, [&](const StoredRow& stored) {
    EvaluationRow row;
    row.set = stored.part;
    row.eval_loss = stored.values[0];
    progress.add(row);
  });
  return progress;
}

}  // namespace lathe
