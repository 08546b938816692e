// First kernel of a BF16 attention backward: delta = sum over d of o·dO and the base-2 logsumexp of every
// query row, the first key block each query tile sees, and the zeroed turn counters of dq.
#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_mma.cuh"

namespace lathe::attention {
namespace {

constexpr int kLanesPerRow = 16;  // 16 lanes × 16 bytes: a row of head dim 128 in one access
constexpr int kRows = 16;
constexpr float kLog2E = 1.4426950408889634f;

// Products of eight BF16 pairs, summed.
__device__ __forceinline__ float dot8(const uint4& a, const uint4& b) {
  float sum = 0;
  const uint32_t* pa = &a.x;
  const uint32_t* pb = &b.x;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 x = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(pa[i]));
    const float2 y = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(pb[i]));
    sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
  }
  return sum;
}

// Grid (padded context / 16, H, B), 256 threads: 16 query rows of one head.
__global__ void __launch_bounds__(kRows* kLanesPerRow)
    row_statistics(const __nv_bfloat16* o, const __nv_bfloat16* d_o, const float* lse,
                   const int32_t* document_start, Workspace workspace, int context, int heads, int head_dim,
                   int query_tile, int key_block) {
  const int row = static_cast<int>(threadIdx.x) / kLanesPerRow;
  const int lane = static_cast<int>(threadIdx.x) % kLanesPerRow;
  const int t = static_cast<int>(blockIdx.x) * kRows + row;
  const int head = static_cast<int>(blockIdx.y);
  const int batch = static_cast<int>(blockIdx.z);
  const int64_t head_row = static_cast<int64_t>(batch) * heads + head;
  float sum = 0;
  if (t < context) {
    const int64_t start = ((static_cast<int64_t>(batch) * context + t) * heads + head) * head_dim;
    for (int d = lane * 8; d < head_dim; d += kLanesPerRow * 8) {
      sum += dot8(*reinterpret_cast<const uint4*>(o + start + d),
                  *reinterpret_cast<const uint4*>(d_o + start + d));
    }
  }
#pragma unroll
  for (int step = kLanesPerRow / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) {
    const int64_t at = head_row * workspace.padded_context + t;
    workspace.delta[at] = t < context ? sum : 0.f;
    if (head == 0) {
      const int32_t* starts =
          document_start == nullptr ? nullptr : document_start + static_cast<int64_t>(batch) * context;
      workspace.first_key[batch * workspace.padded_context + t] = t < context ? first_key(starts, t) : 0;
    }
    workspace.lse_log2[at] = t < context ? lse[head_row * context + t] * kLog2E : __int_as_float(0x7f800000);
  }
  if (threadIdx.x == 0) {
    workspace.turn[head_row * (workspace.padded_context / kSmallestTile) + blockIdx.x] = 0;
    if (blockIdx.x == 0 && head_row == 0) *workspace.ticket = 0;
  }
  // The first warp of head 0's block at a tile's start looks at the whole tile.
  const int tile_start = static_cast<int>(blockIdx.x) * kRows;
  if (head == 0 && threadIdx.x < 32 && tile_start % query_tile == 0 && tile_start < context) {
    int first = context;
    for (int i = static_cast<int>(threadIdx.x); i < query_tile && tile_start + i < context; i += 32) {
      const int32_t* starts =
          document_start == nullptr ? nullptr : document_start + static_cast<int64_t>(batch) * context;
      first = min(first, first_key(starts, tile_start + i));
    }
    first = __reduce_min_sync(0xffffffffu, first);
    const int tiles = (context + query_tile - 1) / query_tile;
    if (threadIdx.x == 0) workspace.first_block[batch * tiles + tile_start / query_tile] = first / key_block;
  }
}

}  // namespace

void launch_row_statistics(const AttentionBackwardCall& call, const Workspace& workspace, int query_tile,
                           int key_block, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  const dim3 grid(static_cast<unsigned>(workspace.padded_context / kRows), static_cast<unsigned>(s.heads),
                  static_cast<unsigned>(s.batch));
  row_statistics<<<grid, kRows * kLanesPerRow, 0, stream>>>(
      static_cast<const __nv_bfloat16*>(call.o), static_cast<const __nv_bfloat16*>(call.d_o), call.lse,
      call.document_start, workspace, static_cast<int>(s.context), static_cast<int>(s.heads),
      static_cast<int>(s.head_dim), query_tile, key_block);
  require(cudaGetLastError(), "Launching attention's row statistics");
}

}  // namespace lathe::attention
