// A run's times, told by moments that the test makes up.
#include "core/train/run_clock.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

RunClock::Moment at(int64_t ms) {
  return RunClock::Moment{} + std::chrono::milliseconds(ms);
}

TEST(RunClock, Update_IsSplitAtTheEndOfItsBackward) {
  RunClock clock;
  clock.begin(0, at(0));
  const WindowTimes first = clock.end_update(at(10), at(90), at(100));
  EXPECT_DOUBLE_EQ(first.step_ms, 90);
  EXPECT_DOUBLE_EQ(first.end_to_end_ms, 100);
  EXPECT_DOUBLE_EQ(first.forward_backward_ms, 80);
  EXPECT_DOUBLE_EQ(first.update_ms, 10);
  // The host began the next one while the device was busy: it counts from the end of the first.
  const WindowTimes second = clock.end_update(at(60), at(170), at(200));
  EXPECT_DOUBLE_EQ(second.step_ms, 100);
  EXPECT_DOUBLE_EQ(second.end_to_end_ms, 100);
  // One that began behind an evaluation: the step doesn't count it, end to end does.
  const WindowTimes third = clock.end_update(at(300), at(380), at(400));
  EXPECT_DOUBLE_EQ(third.step_ms, 100);
  EXPECT_DOUBLE_EQ(third.end_to_end_ms, 200);
}

TEST(RunClock, Pauses_CountNowhere) {
  RunClock clock;
  clock.begin(5000, at(0));
  clock.begin_update(at(100));
  clock.pause(at(150));
  EXPECT_EQ(clock.active_ms(at(400)), 5150);
  clock.go_on(at(1150));
  EXPECT_EQ(clock.active_ms(at(1150)), 5150);
  const WindowTimes times = clock.end_update(clock.update_begin(), at(1180), at(1200));
  EXPECT_DOUBLE_EQ(times.step_ms, 100);
  EXPECT_DOUBLE_EQ(times.end_to_end_ms, 200);
  EXPECT_EQ(clock.active_ms(at(1200)), 5200);
}

TEST(RunClock, WarmUp_IsLeftOutOfTheTimePerUpdate) {
  RunClock clock;
  clock.begin(0, at(0));
  int64_t now = 0;
  for (const int64_t slow : {900, 500, 300}) {
    clock.end_update(at(now), at(now + slow), at(now + slow));
    now += slow;
    EXPECT_FALSE(clock.ms_per_update());
  }
  for (int i = 0; i < 4; ++i) {
    clock.end_update(at(now), at(now + 90), at(now + 100));
    now += 100;
  }
  EXPECT_DOUBLE_EQ(clock.ms_per_update().value(), 100);
  clock.pause(at(now));
  clock.go_on(at(now + 7777));
  EXPECT_DOUBLE_EQ(clock.ms_per_update().value(), 100);
}

TEST(RunClock, SetBack_GoesOnFromTheEarlierTime) {
  RunClock clock;
  clock.begin(0, at(0));
  clock.end_update(at(0), at(80), at(100));
  clock.set_back(40, at(150));
  EXPECT_EQ(clock.active_ms(at(160)), 50);
}

TEST(SpeedWatch, ThirdSlowUpdateInARow_IsToldOnce) {
  SpeedWatch watch;
  for (int i = 0; i < 32; ++i) EXPECT_FALSE(watch.slower(i == 0 ? 5000 : 100));
  EXPECT_FALSE(watch.slower(500));
  EXPECT_FALSE(watch.slower(500));
  EXPECT_FALSE(watch.slower(150));  // not in a row
  EXPECT_FALSE(watch.slower(500));
  EXPECT_FALSE(watch.slower(500));
  EXPECT_DOUBLE_EQ(watch.slower(400).value(), 4);
  EXPECT_FALSE(watch.slower(400));
}

}  // namespace
}  // namespace lathe
