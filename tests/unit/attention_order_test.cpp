// The order in which an attention backward adds to dq: every contribution has its place, nobody waits in a
// circle, and on the imagined clock almost nobody waits at all.
#include "kernels/cuda/attention_order.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lathe {
namespace {

struct Case {
  int context, key_block, query_tile, pairs, group, resident;
};
const Case kCases[] = {{4096, 128, 64, 16, 1, 132}, {4096, 128, 64, 64, 1, 132}, {1024, 128, 64, 32, 6, 132},
                       {4096, 128, 64, 16, 1, 84},  {8192, 128, 64, 16, 1, 84},  {1000, 128, 64, 3, 2, 132},
                       {130, 128, 64, 5, 3, 132},   {2048, 64, 16, 56, 1, 84},   {64, 128, 64, 1, 1, 132},
                       {4096, 128, 64, 200, 1, 132}};

AttentionOrder order_of(const Case& c) {
  AttentionOrder order;
  order.tiles = (c.context + c.query_tile - 1) / c.query_tile;
  order.blocks = (c.context + c.key_block - 1) / c.key_block;
  order.tiles_per_block = c.key_block / c.query_tile;
  order.group = c.group;
  return fastest_order(order, c.pairs, c.resident);
}

struct Step {
  int block, head, tile;
};
// What one slot does, in the order it does it.
std::vector<Step> steps_of(const AttentionOrder& order, int slot) {
  std::vector<Step> steps;
  for (int wave = 0; wave < order.waves() && order.block(slot, wave) < order.blocks; ++wave) {
    const int block = order.block(slot, wave);
    const int first = order.first_tile(block);
    for (int head = 0; head < order.group; ++head) {
      for (int i = 0; i < order.tiles - first; ++i) {
        steps.push_back({block, head, AttentionOrder::upwards(wave) ? first + i : order.tiles - 1 - i});
      }
    }
  }
  return steps;
}

int rank_of(const AttentionOrder& order, const Step& s) {
  const int tick = order.tick(s.block, s.head, s.tile);
  int rank = 0;
  for (int other = 0; other <= std::min(s.tile / order.tiles_per_block, order.blocks - 1); ++other) {
    if (other != s.block && order.before(other, order.tick(other, s.head, s.tile), s.block, tick)) ++rank;
  }
  return rank;
}

TEST(AttentionOrder, Order_AnyShape_SlotsCoverEveryBlockOnceOnRisingTicks) {
  for (const Case& c : kCases) {
    const AttentionOrder order = order_of(c);
    ASSERT_GE(order.slots, 1);
    ASSERT_TRUE(order.slots == 1 || order.slots * c.pairs <= c.resident);
    std::vector<int> seen(static_cast<size_t>(order.blocks), 0);
    int longest = 0;
    for (int slot = 0; slot < order.slots; ++slot) {
      int next = 0;
      for (const Step& s : steps_of(order, slot)) {
        if (s.head == 0 && s.tile == order.first_tile(s.block)) ++seen[static_cast<size_t>(s.block)];
        ASSERT_EQ(order.tick(s.block, s.head, s.tile), next++) << "context " << c.context << " slot " << slot;
      }
      longest = std::max(longest, next);
    }
    EXPECT_EQ(longest, order.length());
    for (const int times : seen) EXPECT_EQ(times, 1) << "context " << c.context;
  }
}

// Runs a pair's slots against each other: a step takes one tick, its contribution goes in during the tick's
// second half once all earlier ones are in. Returns the tick at which the last slot ends, -1 for a deadlock.
double simulate(const AttentionOrder& order) {
  struct Slot {
    std::vector<Step> steps;
    size_t next = 0;
    double time = 0;
  };
  std::vector<Slot> slots;
  for (int slot = 0; slot < order.slots; ++slot) slots.push_back({steps_of(order, slot)});
  const auto cells = static_cast<size_t>(order.group * order.tiles);
  std::vector<int> added(cells, 0);
  std::vector<double> ready(cells, 0);
  double end = 0;
  for (;;) {
    std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.time < b.time; });
    bool working = false;
    bool moved = false;
    for (Slot& slot : slots) {
      if (slot.next == slot.steps.size()) continue;
      working = true;
      const Step& s = slot.steps[slot.next];
      const auto cell = static_cast<size_t>(s.head * order.tiles + s.tile);
      if (added[cell] != rank_of(order, s)) continue;
      const double start = std::max(slot.time + 0.5, ready[cell]);
      ready[cell] = start + 0.75;  // visible to others a quarter of a tick after the step's end
      slot.time = start + 0.5;
      end = std::max(end, slot.time);
      ++added[cell];
      ++slot.next;
      moved = true;
      break;
    }
    if (!working) return end;
    if (!moved) return -1;
  }
}

TEST(AttentionOrder, Order_SlotsWaitingForEachOther_NobodyWaitsForeverOrMuch) {
  for (const Case& c : kCases) {
    const AttentionOrder order = order_of(c);
    const double ticks = simulate(order);
    EXPECT_GE(ticks, order.length()) << "context " << c.context;
    EXPECT_LE(ticks, 1.05 * order.length() + 1) << "context " << c.context << " slots " << order.slots;
  }
}

TEST(AttentionOrder, Order_ReferenceModelOnAnH200_LosesFivePercentOfTheDeviceAtMost) {
  const AttentionOrder order = order_of(kCases[0]);
  double work = 0;
  for (int block = 0; block < order.blocks; ++block) work += order.tiles - order.first_tile(block);
  EXPECT_LE(order.length(), 1.05 * work * 16 / 132);
}

}  // namespace
}  // namespace lathe
