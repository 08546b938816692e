// Learning rates at the places people look at: the first update, the end of warm-up, the middle, the end and
// beyond, in updates and in tokens.
#include <gtest/gtest.h>

#include <cmath>

#include "core/config/derived.h"
#include "core/train/lr_schedule.h"

namespace lathe {
namespace {

RunConfig scheduled(Schedule kind, int64_t warmup, int64_t updates) {
  RunConfig config;
  config.schedule.kind = kind;
  config.schedule.lr = 1e-3;
  config.schedule.warmup = warmup;
  config.schedule.final_fraction = 0.1;
  config.run.updates = updates;
  return config;
}

// Of update `number`, counted from one.
double rate(const RunConfig& config, int64_t number) {
  return learning_rate(config, number - 1, (number - 1) * tokens_per_update(config));
}

TEST(LearningRate, WarmUp_RisesFromOneStepToTheWhole) {
  for (const Schedule kind : {Schedule::Constant, Schedule::Cosine, Schedule::Linear, Schedule::Wsd}) {
    const RunConfig config = scheduled(kind, 100, 1000);
    EXPECT_DOUBLE_EQ(rate(config, 1), 1e-5);
    EXPECT_DOUBLE_EQ(rate(config, 50), 5e-4);
    EXPECT_DOUBLE_EQ(rate(config, 100), 1e-3);
  }
}

TEST(LearningRate, NoWarmUp_StartsBelowOrAtTheWhole) {
  EXPECT_DOUBLE_EQ(rate(scheduled(Schedule::Constant, 0, 10), 1), 1e-3);
  // One tenth of the way down after the first of ten updates.
  EXPECT_DOUBLE_EQ(rate(scheduled(Schedule::Linear, 0, 10), 1), 1e-3 * (1 - 0.9 * 0.1));
}

TEST(LearningRate, Constant_StaysForEver) {
  const RunConfig config = scheduled(Schedule::Constant, 10, 0);
  EXPECT_DOUBLE_EQ(rate(config, 11), 1e-3);
  EXPECT_DOUBLE_EQ(rate(config, 1'000'000), 1e-3);
}

TEST(LearningRate, Cosine_HalfWayAndEnd_FollowTheFormula) {
  const RunConfig config = scheduled(Schedule::Cosine, 100, 1100);
  EXPECT_DOUBLE_EQ(rate(config, 600), 1e-3 * (0.1 + 0.9 * 0.5));
  EXPECT_DOUBLE_EQ(rate(config, 350), 1e-3 * (0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2));
  EXPECT_DOUBLE_EQ(rate(config, 1100), 1e-4);
  EXPECT_DOUBLE_EQ(rate(config, 5000), 1e-4);
}

TEST(LearningRate, Linear_FallsEvenly) {
  const RunConfig config = scheduled(Schedule::Linear, 100, 1100);
  EXPECT_DOUBLE_EQ(rate(config, 600), 1e-3 * 0.55);
  EXPECT_DOUBLE_EQ(rate(config, 1100), 1e-4);
  const double fall = rate(config, 500) - rate(config, 501);
  EXPECT_NEAR(rate(config, 900) - rate(config, 901), fall, 1e-15);
}

TEST(LearningRate, Wsd_HoldsThenFallsInItsDecay) {
  RunConfig config = scheduled(Schedule::Wsd, 100, 1000);
  config.schedule.decay = 200;
  EXPECT_DOUBLE_EQ(rate(config, 101), 1e-3);
  EXPECT_DOUBLE_EQ(rate(config, 800), 1e-3);
  EXPECT_DOUBLE_EQ(rate(config, 900), 1e-3 * 0.55);
  EXPECT_DOUBLE_EQ(rate(config, 1000), 1e-4);
  config.schedule.decay = 0;  // a tenth
  EXPECT_DOUBLE_EQ(rate(config, 900), 1e-3);
  EXPECT_DOUBLE_EQ(rate(config, 950), 1e-3 * 0.55);
}

TEST(LearningRate, NeverRisesAfterWarmUp_AndNeverLeavesItsBounds) {
  for (const Schedule kind : {Schedule::Constant, Schedule::Cosine, Schedule::Linear, Schedule::Wsd}) {
    const RunConfig config = scheduled(kind, 20, 200);
    for (int64_t number = 1; number < 300; ++number) {
      const double now = rate(config, number), next = rate(config, number + 1);
      EXPECT_GT(now, 0);
      EXPECT_LE(now, 1e-3);
      EXPECT_TRUE(number < 20 ? next > now : next <= now) << number;
    }
  }
}

TEST(LearningRate, UnitTokens_EqualsUnitUpdates) {
  const RunConfig by_updates = scheduled(Schedule::Cosine, 100, 1000);
  RunConfig by_tokens = by_updates;
  by_tokens.schedule.unit = ScheduleUnit::Tokens;
  by_tokens.schedule.warmup = 100 * tokens_per_update(by_updates);
  for (const int64_t number : {1, 37, 100, 101, 555, 1000, 1500}) {
    EXPECT_DOUBLE_EQ(rate(by_tokens, number), rate(by_updates, number)) << number;
  }
}

TEST(LearningRate, RunOfUnknownLength_KeepsTheRate) {
  RunConfig config = scheduled(Schedule::Cosine, 10, 0);
  config.run.wall_minutes = 5;
  EXPECT_DOUBLE_EQ(rate(config, 100'000), 1e-3);
  config.schedule.length = 1000;
  EXPECT_DOUBLE_EQ(rate(config, 1000), 1e-4);
}

TEST(LearningRate, ScheduleShorterThanTheRun_EndsEarly) {
  RunConfig config = scheduled(Schedule::Linear, 0, 1000);
  config.schedule.length = 500;
  EXPECT_DOUBLE_EQ(rate(config, 500), 1e-4);
  EXPECT_DOUBLE_EQ(rate(config, 900), 1e-4);
}

}  // namespace
}  // namespace lathe
