// The parts of the Hopper backward (attention_wgmma_backward.cu) around its products: tile sizes, shared
// memory and barriers, and the warps that feed the consumers and carry their dQ away.
#pragma once

#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/attention_turn.cuh"
#include "kernels/cuda/attention_wgmma.cuh"

namespace lathe::attention::wgmma_backward {

namespace hw = hopper;

inline constexpr int kThreads = 384;
inline constexpr int kConsumerThreads = 256;
inline constexpr int kConsumerWarps = 8;
inline constexpr int kBM = 64;
inline constexpr int kBN = 128;
inline constexpr int kStages = 2;
// A warp arrives at a barrier with one lane, behind __syncwarp. racecheck follows only what a thread itself
// waits for and arrives at: a build for it (tests/gpu/CMakeLists.txt) lets every lane arrive.
#ifdef LATHE_EVERY_LANE_ARRIVES
inline constexpr int kArrivingLanes = 32;
#else
inline constexpr int kArrivingLanes = 1;
#endif
inline constexpr int kConsumerArrivals = kConsumerWarps * kArrivingLanes;

template <int kHeadDim>
struct BackwardLayout {
  static constexpr int kKeyBytes = hw::tile_bytes(kBN, kHeadDim);
  static constexpr int kQueryBytes = hw::tile_bytes(kBM, kHeadDim);
  static constexpr int kScoreBytes = hw::tile_bytes(kBN, kBM);
  static constexpr int kDqBytes = kBM * kHeadDim * 4;
  static constexpr int kStatisticBytes = kBM * 4;
  static constexpr int kAlignment = 1024;
  // K, V, stages of Q and of dO, two of dS and of dQ, stages of lse, delta and first key.
  static constexpr int kSharedBytes = 2 * kKeyBytes + 2 * kStages * kQueryBytes + 2 * kScoreBytes +
                                      2 * kDqBytes + 3 * kStages * kStatisticBytes + kAlignment;
};

struct BackwardParameters {
  CUtensorMap q, k, v, d_o;
  __nv_bfloat16 *dq, *dk, *dv;
  int64_t dq_stride, dk_stride, dv_stride;
  Workspace workspace;
  AttentionOrder order;
  int context, heads, kv_heads, head_dim;
  float scale, scale_log2;
  bool documents;
};

struct BackwardShared {
  uint64_t kv_full, kv_empty;
  uint64_t q_full[kStages], do_full[kStages], empty[kStages];
  // Per buffer of dQ, with the warp that adds it: its turn's facts below are set; the turn has come; the
  // consumers have filled it, or finished the tile themselves; it may be filled again.
  uint64_t turn_known[2], turn_ready[2], dq_full[2], dq_free[2];
  bool last[2], only[2];  // the tile's last contribution; its only one
  int ticket;
};

// Which (batch row, key/value head) a thread block works on, and its place among the pair's slots.
struct BackwardWork {
  int slot, batch, kv_head;
  int64_t head_row;  // first query head of the group, over B·H
  const int32_t* first_block;

  __device__ __forceinline__ BackwardWork(const BackwardParameters& p, int ticket)
      : slot(ticket % p.order.slots),
        batch(ticket / p.order.slots / p.kv_heads),
        kv_head(ticket / p.order.slots % p.kv_heads),
        head_row(static_cast<int64_t>(batch) * p.heads + kv_head * p.order.group),
        first_block(p.documents ? p.workspace.first_block + batch * p.order.tiles : nullptr) {}
};

struct SharedTiles {
  uint32_t k, v, q, d_o, ds, dq, lse, delta, first_key;  // of stage or buffer 0
};

template <int kHeadDim>
__device__ __forceinline__ void load_loop(const BackwardParameters& p, BackwardShared& sync,
                                          const SharedTiles& tiles, const BackwardWork& work) {
  using Layout = BackwardLayout<kHeadDim>;
  const auto at = [](uint64_t& barrier) { return shared_address(&barrier); };
  int count = 0;
  for (int wave = 0; wave < p.order.waves(); ++wave) {
    const int block = p.order.block(work.slot, wave);
    if (block >= p.order.blocks) break;
    hw::barrier_wait(at(sync.kv_empty), (wave & 1) ^ 1);
    hw::barrier_expect(at(sync.kv_full), 2 * Layout::kKeyBytes);
    hw::load_tile<kBN, kHeadDim>(tiles.k, &p.k, at(sync.kv_full), work.kv_head, block * kBN, work.batch);
    hw::load_tile<kBN, kHeadDim>(tiles.v, &p.v, at(sync.kv_full), work.kv_head, block * kBN, work.batch);
    TileWalk walk(p.order, work.first_block, block, AttentionOrder::upwards(wave));
    for (; !walk.done(); walk.advance(), ++count) {
      const int stage = count % kStages;
      const int head = work.kv_head * p.order.group + walk.head;
      const int64_t row = (work.head_row + walk.head) * p.workspace.padded_context + walk.tile * kBM;
      const uint32_t statistic = static_cast<uint32_t>(stage * Layout::kStatisticBytes);
      hw::barrier_wait(at(sync.empty[stage]), (count / kStages & 1) ^ 1);
      hw::barrier_expect(at(sync.q_full[stage]),
                         Layout::kQueryBytes + (p.documents ? 2 : 1) * Layout::kStatisticBytes);
      hw::load_tile<kBM, kHeadDim>(tiles.q + static_cast<uint32_t>(stage * Layout::kQueryBytes), &p.q,
                                   at(sync.q_full[stage]), head, walk.tile * kBM, work.batch);
      hw::load_bytes(tiles.lse + statistic, p.workspace.lse_log2 + row, Layout::kStatisticBytes,
                     at(sync.q_full[stage]));
      if (p.documents) {
        hw::load_bytes(tiles.first_key + statistic,
                       p.workspace.first_key + work.batch * p.workspace.padded_context + walk.tile * kBM,
                       Layout::kStatisticBytes, at(sync.q_full[stage]));
      }
      hw::barrier_expect(at(sync.do_full[stage]), Layout::kQueryBytes + Layout::kStatisticBytes);
      hw::load_tile<kBM, kHeadDim>(tiles.d_o + static_cast<uint32_t>(stage * Layout::kQueryBytes), &p.d_o,
                                   at(sync.do_full[stage]), head, walk.tile * kBM, work.batch);
      hw::load_bytes(tiles.delta + statistic, p.workspace.delta + row, Layout::kStatisticBytes,
                     at(sync.do_full[stage]));
    }
  }
}

// Every second tile's dQ, those of one buffer.
template <int kHeadDim>
__device__ __forceinline__ void add_loop(const BackwardParameters& p, BackwardShared& sync,
                                         const SharedTiles& tiles, const BackwardWork& work, int buffer,
                                         int lane) {
  using Layout = BackwardLayout<kHeadDim>;
  const auto at = [](uint64_t& barrier) { return shared_address(&barrier); };
  const uint32_t source = tiles.dq + static_cast<uint32_t>(buffer * Layout::kDqBytes);
  SlotWalk slot(p.order, work.first_block, work.slot);
  for (int count = 0; !slot.done(); slot.advance(), ++count) {
    if ((count & 1) != buffer) continue;
    const TileWalk& walk = slot.walk;
    const int last_key = min(walk.tile * kBM + kBM, p.context) - 1;
    const Turn turn =
        find_turn(p.order, walk.block, walk.head, walk.tile, walk.first_seen(), last_key / kBN, lane);
    if (lane == 0) {
      const int64_t row = (work.head_row + walk.head) * p.workspace.padded_context;
      uint32_t* const counter = p.workspace.turn + row / kSmallestTile + walk.tile;
      const uint32_t parity = count / 2 & 1;
      sync.last[buffer] = turn.last();
      sync.only[buffer] = turn.count == 1;
      hw::barrier_arrive(at(sync.turn_known[buffer]));
      if (!turn.last()) hw::barrier_wait(at(sync.dq_full[buffer]), parity);
      await_turn(counter, turn.rank);
      hw::barrier_arrive(at(sync.turn_ready[buffer]));
      if (turn.last()) {
        hw::barrier_wait(at(sync.dq_full[buffer]), parity);
        hw::barrier_arrive(at(sync.dq_free[buffer]));
      } else {
        float* const target = p.workspace.dq + (row + walk.tile * kBM) * kHeadDim;
        if (turn.first()) {
          hw::store_bytes(target, source, Layout::kDqBytes);
        } else {
          hw::follow_acquired();
          hw::add_floats(target, source, Layout::kDqBytes);
        }
        hw::stores_commit();
        hw::stores_wait_read();
        hw::barrier_arrive(at(sync.dq_free[buffer]));
        hw::stores_wait();
        pass_turn(counter);
      }
    }
    __syncwarp();
  }
}

}  // namespace lathe::attention::wgmma_backward
