// The order in which a backward pass adds its contributions to dq, so that equal runs give equal bits.
//
// A head pair (batch row, key/value head) is worked on by `slots` thread blocks at once. Keys are cut into
// blocks of BN, queries into tiles of BM; slot s takes key blocks in serpentine waves (s, 2W-1-s, 2W+s, ...),
// so that causal lengths even out, and walks each block's query tiles upwards in even waves, downwards in odd
// ones. If every tile took one tick, almost no two slots would touch one dq tile at the same tick. That
// imagined clock is the order: contributions to a tile are added by (tick, key block). A slot meets its own
// contributions in that order too, so the earliest unfinished one never waits for anything: no deadlock as
// long as a pair's slots are resident together or started in order.
#pragma once

#ifdef __CUDACC__
#define LATHE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define LATHE_HOST_DEVICE inline
#endif

namespace lathe {

struct AttentionOrder {
  int tiles = 1;            // query tiles of the context
  int blocks = 1;           // key blocks of the context
  int tiles_per_block = 1;  // BN / BM
  int slots = 1;            // thread blocks of one head pair
  int group = 1;            // query heads of one key/value head
  float inverse_slots = 1;  // integer division is slow on a GPU; exact for fewer than 2^21 blocks

  LATHE_HOST_DEVICE void set_slots(int count) {
    slots = count;
    inverse_slots = 1.0f / static_cast<float>(count);
  }

  // Key block of a slot's wave; at or past `blocks` where the wave is short.
  LATHE_HOST_DEVICE int block(int slot, int wave) const {
    return wave * slots + ((wave & 1) != 0 ? slots - 1 - slot : slot);
  }
  LATHE_HOST_DEVICE int waves() const { return (blocks + slots - 1) / slots; }
  LATHE_HOST_DEVICE static bool upwards(int wave) { return (wave & 1) == 0; }
  LATHE_HOST_DEVICE int first_tile(int block_index) const { return block_index * tiles_per_block; }

  // Ticks a slot has spent before its given wave: the lengths of its earlier blocks, summed in closed form
  // (two neighbouring waves 2p, 2p+1 hold blocks that sum to (4p+2)·slots - 1).
  LATHE_HOST_DEVICE int ticks_before(int slot, int wave) const {
    const int pairs = wave / 2;
    int block_sum = 2 * slots * pairs * pairs - pairs;
    if ((wave & 1) != 0) block_sum += block(slot, wave - 1);
    return group * (wave * tiles - tiles_per_block * block_sum);
  }

  // Tick at which key block `block_index` meets query tile `tile` of head `head` (0..group-1) of the pair.
  LATHE_HOST_DEVICE int tick(int block_index, int head, int tile) const {
    const int wave = static_cast<int>((static_cast<float>(block_index) + 0.5f) * inverse_slots);
    const int rest = block_index - wave * slots;
    const int slot = (wave & 1) != 0 ? slots - 1 - rest : rest;
    const int first = first_tile(block_index);
    const int step = upwards(wave) ? tile - first : tiles - 1 - tile;
    return ticks_before(slot, wave) + head * (tiles - first) + step;
  }

  // Whether block a's contribution to a tile comes before block b's.
  LATHE_HOST_DEVICE bool before(int a, int tick_a, int b, int tick_b) const {
    return tick_a < tick_b || (tick_a == tick_b && a < b);
  }

  // Ticks until the last slot of a pair is done.
  int length() const {
    int longest = 0;
    for (int slot = 0; slot < slots; ++slot) {
      int wave = waves();
      if (block(slot, wave - 1) >= blocks) --wave;
      const int ticks = ticks_before(slot, wave);
      longest = ticks > longest ? ticks : longest;
    }
    return longest;
  }
};

// Fills in the slots that finish `pairs` head pairs soonest on a device that holds `resident` thread blocks.
// All slots of all pairs run at once: pairs that start late would break the imagined clock's step and wait.
inline AttentionOrder fastest_order(AttentionOrder order, int pairs, int resident) {
  const int room = resident / pairs;
  const int most = room < order.blocks ? room : order.blocks;
  order.set_slots(1);
  AttentionOrder best = order;
  for (int slots = 2; slots <= most; ++slots) {
    order.set_slots(slots);
    if (order.length() < best.length()) best = order;
  }
  return best;
}

}  // namespace lathe
