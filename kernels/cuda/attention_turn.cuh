// Turns at a dq tile: a thread block adds its contribution when its number, its rank in AttentionOrder among
// the key blocks that reach the tile, comes up. Counters live in global memory; they only ever grow.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_order.cuh"

namespace lathe::attention {

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

// One thread, after a barrier behind the block's writes, lets the next contribution in.
__device__ __forceinline__ void pass_turn(uint32_t* counter, int rank) {
  __threadfence();
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(counter), "r"(rank + 1) : "memory");
}

// Sums at L2 without waiting for the result; exact order is the caller's business.
__device__ __forceinline__ void add_to_global(float* at, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(at), "f"(value) : "memory");
}

}  // namespace lathe::attention
