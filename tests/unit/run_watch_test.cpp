// What watches a run: the gradient norm's running mean, and the alerts of a device's sensors.
#include <gtest/gtest.h>

#include <cmath>

#include "core/train/norm_watch.h"
#include "core/train/telemetry.h"

namespace lathe {
namespace {

RunConfig::Guard guard_of(double zscore, NormAction action) {
  RunConfig::Guard guard;
  guard.norm_zscore = zscore;
  guard.norm_action = action;
  return guard;
}

// Norms that swing around one, so that mean and deviation mean something.
void feed(const RunConfig::Guard& guard, TrainingProgress& progress, int count) {
  for (int i = 0; i < count; ++i) judge_norm(guard, progress, i % 2 == 0 ? 0.9 : 1.1);
}

TEST(NormWatch, Outlier_IsNamedAndTeachesNothing) {
  const RunConfig::Guard guard = guard_of(4, NormAction::Warn);
  TrainingProgress progress;
  feed(guard, progress, 100);
  const TrainingProgress before = progress;
  const auto deviations = judge_norm(guard, progress, 50);
  ASSERT_TRUE(deviations.has_value());
  EXPECT_GT(*deviations, 4);
  EXPECT_EQ(progress.norm_mean, before.norm_mean);
  EXPECT_EQ(progress.norm_count, before.norm_count);
  EXPECT_FALSE(judge_norm(guard, progress, 1.0).has_value());
}

TEST(NormWatch, FewNorms_AreNotJudged) {
  const RunConfig::Guard guard = guard_of(4, NormAction::Skip);
  TrainingProgress progress;
  feed(guard, progress, 10);
  EXPECT_FALSE(judge_norm(guard, progress, 1e6).has_value());
  EXPECT_EQ(accepted_norm(guard, progress), 0);
}

TEST(NormWatch, SkipAndStop_TellTheDeviceTheLimitWarnDoesNot) {
  TrainingProgress progress;
  feed(guard_of(4, NormAction::Skip), progress, 200);
  EXPECT_EQ(accepted_norm(guard_of(4, NormAction::Warn), progress), 0);
  EXPECT_EQ(accepted_norm(guard_of(0, NormAction::Skip), progress), 0);
  const double limit = accepted_norm(guard_of(4, NormAction::Skip), progress);
  // ln 0.9 and ln 1.1 in turn: mean about 0, deviation about 0.1; four of them above.
  EXPECT_NEAR(std::log(limit), 0.4, 0.05);
  EXPECT_EQ(accepted_norm(guard_of(4, NormAction::Stop), progress), limit);
}

TEST(Telemetry, SensorsInOrder_NoAlert) {
  DeviceTelemetry reading;
  reading.throttle_reasons = 0x4;  // the power cap: how a busy GPU runs
  reading.used_bytes = 80;
  reading.total_bytes = 100;
  for (const std::string& text : judge(reading, 50, 1000, 10).text) EXPECT_EQ(text, "");
}

TEST(Telemetry, HeatSpillAndFullDisk_AreSaid) {
  DeviceTelemetry reading;
  reading.throttle_reasons = 0x20;
  reading.temperature_c = 91;
  reading.used_bytes = 90;
  reading.total_bytes = 100;
  const AlertTexts alerts = judge(reading, 120, 15, 10);
  EXPECT_NE(alerts.text[static_cast<int>(Alert::Throttling)].find("91"), std::string::npos);
  EXPECT_NE(alerts.text[static_cast<int>(Alert::Spill)], "");
  EXPECT_NE(alerts.text[static_cast<int>(Alert::DiskLow)], "");
}

// Some of what was allocated lies elsewhere: beside what others hold, or by the device's own account.
TEST(Telemetry, ArenaThatTheDeviceCantHold_IsASpill) {
  const auto spilled = [](std::optional<int64_t> process, int64_t used) {
    DeviceTelemetry reading;
    reading.process_bytes = process;
    reading.used_bytes = used;
    reading.total_bytes = 100;
    return !judge(reading, 60, 1000, 10).text[static_cast<int>(Alert::Spill)].empty();
  };
  EXPECT_FALSE(spilled(65, 100));           // others hold 35
  EXPECT_TRUE(spilled(50, 95));             // they hold 45, and 60 are wanted
  EXPECT_TRUE(spilled(50, 50));             // nobody else, but ten are missing
  EXPECT_FALSE(spilled(std::nullopt, 90));  // a system that doesn't tell processes apart
  EXPECT_TRUE(spilled(std::nullopt, 55));
  DeviceTelemetry blind;  // without sensors nothing can be said
  EXPECT_EQ(judge(blind, 60, 1000, 10).text[static_cast<int>(Alert::Spill)], "");
}

}  // namespace
}  // namespace lathe
