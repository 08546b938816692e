// The CPU backend's threads: every item once, errors arrive, scratch is aligned and private.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "kernels/cpu/team.h"

namespace lathe::cpu {
namespace {

TEST(Team, ManyRounds_RunEachItemOnce) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    EXPECT_EQ(team.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
        team.for_each(count, [&](int64_t item, Worker&) { ++runs[static_cast<size_t>(item)]; });
        for (const std::atomic<int>& run : runs) ASSERT_EQ(run, 1);
      }
    }
  }
}

TEST(Team, Ranges_CoverAllAndKeepTheirGrain) {
  Team team(3);
  std::vector<std::atomic<int>> seen(100);
  team.for_ranges(100, 32, [&](int64_t begin, int64_t end, Worker&) {
    EXPECT_EQ(begin % 32, 0);
    EXPECT_LE(end - begin, 32);
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const std::atomic<int>& count : seen) EXPECT_EQ(count, 1);
}

TEST(Team, ThrowingItem_ReachesTheCallerAndTheTeamLivesOn) {
  for (const int threads : {1, 3}) {
    Team team(threads);
    const auto fail = [](int64_t item, Worker&) {
      if (item == 5) throw std::runtime_error("item 5");
    };
    EXPECT_THROW(team.for_each(100, fail), std::runtime_error);
    std::atomic<int> runs = 0;
    team.for_each(100, [&](int64_t, Worker&) { ++runs; });
    EXPECT_EQ(runs, 100);
  }
}

TEST(Team, Scratch_IsAlignedGrowsAndIsPrivate) {
  Team team(2);
  for (const int64_t count : {3, 100, 5000, 10}) {
    team.for_each(64, [&](int64_t item, Worker& worker) {
      auto* first = worker.buffer<int64_t>(0, count);
      auto* second = worker.buffer<int64_t>(1, count);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
      for (int64_t i = 0; i < count; ++i) first[i] = second[i] = item;
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(first[i] + second[i], 2 * item);
    });
  }
}

}  // namespace
}  // namespace lathe::cpu
