// What past runs say about the estimates, on one device.
#include "core/history/past_predictions.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

RunSummary run(std::string device, int64_t planned, int64_t measured, double predicted, double speed) {
  RunSummary summary;
  summary.device = std::move(device);
  summary.step = 100;
  summary.planned_peak_bytes = planned;
  summary.measured_peak_bytes = measured;
  summary.predicted_tokens_per_s = predicted;
  summary.tokens_per_s = speed;
  return summary;
}

constexpr const char* kHere = "NVIDIA GeForce RTX 5070 (cuda, 12.0 GiB)";

TEST(PastPredictions, MedianAndWorst_OfThisDeviceAlone) {
  const std::vector<RunSummary> runs = {
      run(kHere, 1000, 990, 100, 102),
      run("NVIDIA GeForce RTX 5070 Ti (cuda, 16.0 GiB)", 1000, 5000, 100, 500),
      run(kHere, 1000, 995, 100, 88),
      run(kHere, 1000, 999, 100, 101),
  };
  const PastPredictions past = past_predictions(runs, "NVIDIA GeForce RTX 5070");
  EXPECT_EQ(past.peak.runs, 3);
  ASSERT_EQ(past.runs.size(), 3U);
  EXPECT_EQ(past.runs[1].measured_peak_bytes, 995);
  EXPECT_EQ(past.runs[1].measured_tokens_per_s, 88);
  EXPECT_NEAR(past.peak.median, -0.005, 1e-9);
  EXPECT_NEAR(past.peak.worst, -0.01, 1e-9);
  EXPECT_NEAR(past.speed.median, 0.01, 1e-9);
  EXPECT_NEAR(past.speed.worst, -0.12, 1e-9);
  EXPECT_EQ(
      past_predictions_text(past),
      "Measured against predicted on this device: memory -0.5% in the median of 3 runs, -1.0% at worst; "
      "tokens/s +1.0% in the median of 3 runs, -12.0% at worst.");
}

TEST(PastPredictions, RunsThatSayNothing_DoNotCount) {
  std::vector<RunSummary> runs(4, run(kHere, 1000, 1000, 100, 100));
  runs[0].step = 9;  // too short for a median
  runs[1].predicted_tokens_per_s.reset();
  runs[2].measured_peak_bytes.reset();
  const PastPredictions past = past_predictions(runs, "NVIDIA GeForce RTX 5070");
  EXPECT_EQ(past.peak.runs, 2);
  EXPECT_EQ(past.speed.runs, 2);
  EXPECT_EQ(past.runs.size(), 3U) << "two have half of it";
  EXPECT_EQ(past_predictions(runs, "NVIDIA GeForce RTX 5070", 1).peak.runs, 1);
  const PastPredictions none = past_predictions(runs, "NVIDIA H200");
  EXPECT_EQ(past_predictions_text(none), "No run on this device yet to compare predictions with.");
}

}  // namespace
}  // namespace lathe
