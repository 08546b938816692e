// The parts of the mma.sync backward (attention_mma_backward.cu): its tile sizes and shared memory, its
// parameters, and the ways out of a thread block's registers: dQ, added in turn, and dK and dV.
#pragma once

#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/attention_turn.cuh"

namespace lathe::attention {

template <int kHeadDim>  // padded
struct BackwardTile {
  static constexpr bool kWide = kHeadDim > 128;
  static constexpr int kKeys = kWide ? 64 : 128;
  static constexpr int kQueries = kWide ? 16 : 64;
  // Scores are made for this many queries at a time, which bounds the registers they take.
  static constexpr int kPart = kWide ? 16 : 32;
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  // Warps that share 16 keys, each with its part of the head dim of dK and dV; they repeat S and dP.
  static constexpr int kColumnGroups = kWarps / (kKeys / 16);
  static constexpr int kColumns = kHeadDim / kColumnGroups;
  // Narrow heads keep V as A operands in registers, which frees its shared memory.
  static constexpr bool kValuesInRegisters = !kWide;
  // dQ: 16-row groups, and how many 8-column tiles of one each warp makes.
  static constexpr int kRowGroups = kQueries / 16;
  static constexpr int kDqTiles = kHeadDim / 8 / (kWarps / kRowGroups);
  static_assert(kDqTiles * (kWarps / kRowGroups) * 8 == kHeadDim);

  static constexpr int kKeyBytes = kKeys * kHeadDim * 2;
  static constexpr int kQueryBytes = kQueries * kHeadDim * 2;
  static constexpr int kStatisticBytes = kQueries * 4;  // one of lse, delta, document start
  static constexpr int kScoreBytes = kKeys * kQueries * 2;
  // Offsets of the parts: K, V if it stays, two stages of Q, dO, dS, two stages of statistics, the turn.
  static constexpr int kValues = kKeyBytes;
  static constexpr int kStages = kValues + (kValuesInRegisters ? 0 : kKeyBytes);
  static constexpr int kGradients = kStages + 2 * kQueryBytes;
  static constexpr int kScores = kGradients + kQueryBytes;
  static constexpr int kStatistics = kScores + kScoreBytes;
  static constexpr int kTurn = kStatistics + 2 * 3 * kStatisticBytes;
  static constexpr int kSharedBytes = kTurn + 16;
  static_assert(kSharedBytes <= 99 * 1024, "what a consumer GPU gives one thread block");
  static_assert(!kValuesInRegisters || 2 * kQueryBytes >= kKeyBytes, "values pass through the stages");
};

struct BackwardParameters {
  const __nv_bfloat16 *q, *k, *v, *d_o;
  __nv_bfloat16 *dq, *dk, *dv;
  int64_t q_stride, k_stride, v_stride, dq_stride, dk_stride, dv_stride;
  const int32_t* document_start;
  Workspace workspace;
  AttentionOrder order;
  int context, heads, kv_heads, head_dim;
  float scale, scale_log2;
};

// acc[16, 8·kTiles] += A · rows k_row.. of a tile, columns from first_chunk·8.
template <int kHeadDim, int kTiles>
__device__ __forceinline__ void add_product(float (&acc)[kTiles][4], const uint32_t (&a)[4], uint32_t tile,
                                            int k_row, int first_chunk, int lane) {
#pragma unroll
  for (int d = 0; d < kTiles / 2; ++d) {
    uint32_t b[4];
    load_b_transposed<kHeadDim>(b, tile, k_row, first_chunk + d * 2, lane);
    multiply_add(acc[2 * d], a, b[0], b[1]);
    multiply_add(acc[2 * d + 1], a, b[2], b[3]);
  }
}

// Adds this warp's 16 rows × kTiles column tiles of dS·K to the tile's sum, or finishes it, according to the
// turn.
template <int kHeadDim, int kTiles>
__device__ __forceinline__ void contribute_dq(const BackwardParameters& p, float (&dq)[kTiles][4],
                                              const Turn& turn, int batch, int head, int tile, int row_group,
                                              int first_column_tile, int lane) {
  const int first_row = tile * BackwardTile<kHeadDim>::kQueries + row_group * 16;
  float* const sums =
      p.workspace.dq +
      ((static_cast<int64_t>(batch) * p.heads + head) * p.workspace.padded_context + first_row) * kHeadDim +
      lane;
#pragma unroll
  for (int d = 0; d < kTiles; ++d) {
    const int column_tile = first_column_tile + d;
    if (column_tile * 8 >= p.head_dim) break;
    float* const sum = sums + column_tile * 128;  // 4 registers × 32 lanes
    if (!turn.last()) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (turn.first()) {
          __stcg(sum + i * 32, dq[d][i]);
        } else {
          add_to_global(sum + i * 32, dq[d][i]);
        }
      }
      continue;
    }
    if (!turn.first()) {
#pragma unroll
      for (int i = 0; i < 4; ++i) dq[d][i] += __ldcg(sum + i * 32);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + lane / 4 + r * 8;
      if (row >= p.context) continue;
      __nv_bfloat16* const out = p.dq + (static_cast<int64_t>(batch) * p.context + row) * p.dq_stride +
                                 head * p.head_dim + column_tile * 8 + (lane & 3) * 2;
      *reinterpret_cast<uint32_t*>(out) = pack_bf16(dq[d][2 * r] * p.scale, dq[d][2 * r + 1] * p.scale);
    }
  }
}

// Writes this warp's keys[0], keys[1] rows of dK (scaled) and dV.
template <int kHeadDim, int kTiles>
__device__ __forceinline__ void store_dk_dv(const BackwardParameters& p, const float (&dk)[kTiles][4],
                                            const float (&dv)[kTiles][4], int batch, int kv_head,
                                            const int (&keys)[2], int column_group, int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (keys[r] >= p.context) continue;
    const int64_t row = static_cast<int64_t>(batch) * p.context + keys[r];
    const int column = kv_head * p.head_dim + (lane & 3) * 2;
    __nv_bfloat16* const dk_row = p.dk + row * p.dk_stride + column;
    __nv_bfloat16* const dv_row = p.dv + row * p.dv_stride + column;
#pragma unroll
    for (int d = 0; d < kTiles; ++d) {
      const int at = (column_group * kTiles + d) * 8;
      if (at >= p.head_dim) continue;
      *reinterpret_cast<uint32_t*>(dk_row + at) =
          pack_bf16(dk[d][2 * r] * p.scale, dk[d][2 * r + 1] * p.scale);
      *reinterpret_cast<uint32_t*>(dv_row + at) = pack_bf16(dv[d][2 * r], dv[d][2 * r + 1]);
    }
  }
}

}  // namespace lathe::attention
