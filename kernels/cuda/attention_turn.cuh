// A backward pass over query tiles: which tiles a key block walks, and turns at their dq. A thread block adds
// its contribution when its number, its rank in AttentionOrder among the key blocks that reach the tile,
// comes up. Counters live in global memory; they only ever grow.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_order.cuh"

namespace lathe::attention {

// The (head of the group, query tile) pairs a key block meets, in its wave's direction, without tiles whose
// documents all begin after the block.
struct TileWalk {
  const int32_t*
      first_block;  // of this batch row; null without documents, when every tile sees every block before it
  int block, first, last, step, group;
  int head = 0;
  int tile = 0;

  __device__ __forceinline__ TileWalk(const AttentionOrder& order, const int32_t* first_block_of,
                                      int key_block, bool upwards)
      : first_block(first_block_of),
        block(key_block),
        first(upwards ? order.first_tile(key_block) : order.tiles - 1),
        last(upwards ? order.tiles - 1 : order.first_tile(key_block)),
        step(upwards ? 1 : -1),
        group(order.group),
        tile(first) {
    skip_unseen();
  }
  __device__ __forceinline__ bool done() const { return head == group; }
  // The first key block this tile sees.
  __device__ __forceinline__ int first_seen() const { return first_block == nullptr ? 0 : first_block[tile]; }
  __device__ __forceinline__ void advance() {
    move();
    skip_unseen();
  }

 private:
  __device__ __forceinline__ void move() {
    if (tile == last) {
      tile = first;
      ++head;
    } else {
      tile += step;
    }
  }
  __device__ __forceinline__ void skip_unseen() {
    if (first_block == nullptr) return;
    while (head < group && first_block[tile] > block) move();
  }
};

// All tiles a slot meets, wave after wave.
struct SlotWalk {
  const AttentionOrder& order;
  const int32_t* first_block;
  int slot;
  int wave = 0;
  TileWalk walk;

  __device__ __forceinline__ SlotWalk(const AttentionOrder& slots, const int32_t* first_block_of,
                                      int slot_index)
      : order(slots),
        first_block(first_block_of),
        slot(slot_index),
        walk(slots, first_block_of, slots.block(slot_index, 0), AttentionOrder::upwards(0)) {}
  __device__ __forceinline__ bool done() const { return wave >= order.waves() || walk.block >= order.blocks; }
  __device__ __forceinline__ void advance() {
    walk.advance();
    if (!walk.done()) return;  // every wave has a tile: a key's own query sees it
    ++wave;
    walk.block = order.block(slot, wave);
    if (done()) return;  // past the last block there are no tiles whose first block could be read
    walk = TileWalk(order, first_block, walk.block, AttentionOrder::upwards(wave));
  }
};

// A contribution's place: `rank` others come before it, `count` there are in all.
struct Turn {
  int rank = 0;
  int count = 1;
  __device__ __forceinline__ bool first() const { return rank == 0; }
  __device__ __forceinline__ bool last() const { return rank == count - 1; }
};

// Place of key block `block` at query tile `tile`, which sees key blocks first..last. Called by a whole warp.
__device__ __forceinline__ Turn find_turn(const AttentionOrder& order, int block, int head, int tile,
                                          int first, int last, int lane) {
  const int tick = order.tick(block, head, tile);
  int earlier = 0;
  for (int other = first + lane; other <= last; other += 32) {
    if (other != block && order.before(other, order.tick(other, head, tile), block, tick)) ++earlier;
  }
  return {__reduce_add_sync(0xffffffffu, earlier), last - first + 1};
}

// One thread waits until `rank` contributions are in; a barrier after it passes what they wrote to the block.
__device__ __forceinline__ void await_turn(const uint32_t* counter, int rank) {
  uint32_t seen;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  } while (seen != static_cast<uint32_t>(rank));
}

// The same in halves, for a thread that would rather work than wait: start early with peek_turn, end with
// finish_turn just before the contribution. Relaxed is enough because what follows touches dq at L2 only,
// with instructions that depend on the counter's value.
__device__ __forceinline__ uint32_t peek_turn(const uint32_t* counter) {
  uint32_t seen;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  return seen;
}
__device__ __forceinline__ void finish_turn(const uint32_t* counter, int rank, uint32_t seen) {
  while (seen != static_cast<uint32_t>(rank)) seen = peek_turn(counter);
}

// One thread, after a barrier behind the block's writes, lets the next contribution in.
__device__ __forceinline__ void pass_turn(uint32_t* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

// Sums at L2 without waiting for the result; exact order is the caller's business.
__device__ __forceinline__ void add_to_global(float* at, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(at), "f"(value) : "memory");
}

}  // namespace lathe::attention
