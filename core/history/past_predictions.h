// How far off the estimates of past runs were, on one device: what was promised before launch beside what the
// run then took.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/run_types.h"

namespace lathe {

// Of one quantity: measured over predicted, minus 1. Above zero the run took, or did, more than was promised.
struct PredictionErrors {
  int runs = 0;
  double median = 0;
  double worst = 0;  // the one farthest from zero
};

// One run's figures; a zero was not predicted or not measured.
struct PastRun {
  std::string name;
  int64_t planned_peak_bytes = 0, measured_peak_bytes = 0;
  double predicted_tokens_per_s = 0, measured_tokens_per_s = 0;
};

struct PastPredictions {
  PredictionErrors peak;      // bytes of the process
  PredictionErrors speed;     // tokens/s, nominal, step only
  std::vector<PastRun> runs;  // those with either, newest first
};

// Of the newest `most` runs of at least ten updates on this device; `runs` newest first, as HistoryStore
// lists them; `device` as the driver names it, without the memory.
PastPredictions past_predictions(const std::vector<RunSummary>& runs, std::string_view device,
                                 size_t most = 20);

// "Measured against predicted on this device: memory +0.3% in the median of 12 runs, +0.9% at worst; …", a
// sentence for people.
std::string past_predictions_text(const PastPredictions& past);

}  // namespace lathe
