#include "core/history/past_predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe {

namespace {

constexpr int64_t kLeastUpdates = 10;

PredictionErrors summarise(std::vector<double> errors) {
  PredictionErrors result;
  if (errors.empty()) return result;
  std::ranges::sort(errors);
  result.runs = static_cast<int>(errors.size());
  result.median = errors[errors.size() / 2];
  result.worst = std::fabs(errors.front()) > std::fabs(errors.back()) ? errors.front() : errors.back();
  return result;
}

}  // namespace

PastPredictions past_predictions(const std::vector<RunSummary>& runs, std::string_view device, size_t most) {
  PastPredictions past;
  std::vector<double> peaks, speeds;
  const std::string named = std::string(device) + " (";  // as TrainingRun records it
  for (const RunSummary& run : runs) {
    if (run.step < kLeastUpdates || run.device.find(named) == std::string::npos) continue;
    const PastRun figures{run.name, run.planned_peak_bytes.value_or(0), run.measured_peak_bytes.value_or(0),
                          run.predicted_tokens_per_s.value_or(0), run.tokens_per_s.value_or(0)};
    const bool peak = figures.planned_peak_bytes > 0 && figures.measured_peak_bytes > 0;
    const bool speed = figures.predicted_tokens_per_s > 0 && figures.measured_tokens_per_s > 0;
    const auto error = [](auto predicted, auto measured) {
      return static_cast<double>(measured) / static_cast<double>(predicted) - 1;
    };
    if (peak && peaks.size() < most)
      peaks.push_back(error(figures.planned_peak_bytes, figures.measured_peak_bytes));
    if (speed && speeds.size() < most)
      speeds.push_back(error(figures.predicted_tokens_per_s, figures.measured_tokens_per_s));
    if ((peak || speed) && past.runs.size() < most) past.runs.push_back(figures);
  }
  past.peak = summarise(std::move(peaks));
  past.speed = summarise(std::move(speeds));
  return past;
}

std::string past_predictions_text(const PastPredictions& past) {
  const auto part = [](std::string_view what, const PredictionErrors& errors) {
    return fmt::format("{} {:+.1f}% in the median of {} run{}, {:+.1f}% at worst", what, 100 * errors.median,
                       errors.runs, errors.runs == 1 ? "" : "s", 100 * errors.worst);
  };
  std::string text;
  if (past.peak.runs > 0) text = part("memory", past.peak);
  if (past.speed.runs > 0) text += (text.empty() ? "" : "; ") + part("tokens/s", past.speed);
  if (text.empty()) return "No run on this device yet to compare predictions with.";
  return "Measured against predicted on this device: " + text + ".";
}

}  // namespace lathe
