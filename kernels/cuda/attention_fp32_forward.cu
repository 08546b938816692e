// FP32 attention forward, for parity with an FP32 framework: a tile of queries against tiles of keys with an
// online softmax, all in FP32 arithmetic.
#include <limits>

#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_fp32_tile.cuh"

namespace lathe::attention {
namespace {

using namespace fp32;

struct ForwardParameters {
  const float *q, *k, *v;
  int64_t q_stride, k_stride, v_stride;
  const int32_t* document_start;
  float* o;
  float* lse;
  int context, heads, group, head_dim;
  float scale;
};

// Grid (query tiles, H, B); the longest rows first.
template <int kHeadDim, int kRows>
__global__ void __launch_bounds__(kThreads) forward_kernel(const __grid_constant__ ForwardParameters p) {
  extern __shared__ __align__(16) float shared_floats[];
  float* const q_tile = shared_floats;
  float* const kv_tile = q_tile + Tile<kRows, kHeadDim>::kFloats;
  float* const p_tile = kv_tile + Tile<kRows, kHeadDim>::kFloats;
  constexpr int kPer = kRows / 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();

  const int first_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int head = static_cast<int>(blockIdx.y);
  const int64_t batch_row = static_cast<int64_t>(blockIdx.z) * p.context;
  const float* q = p.q + batch_row * p.q_stride + head * p.head_dim;
  const float* k = p.k + batch_row * p.k_stride + head / p.group * p.head_dim;
  const float* v = p.v + batch_row * p.v_stride + head / p.group * p.head_dim;
  const int32_t* starts = p.document_start == nullptr ? nullptr : p.document_start + batch_row;

  int row_start[kPer];
  float row_max[kPer];
  float row_sum[kPer];
  float out[kPer][kHeadDim / 16] = {};
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    row_start[i] = first_key(starts, min(first_query + thread_row() + 16 * i, p.context - 1));
    row_max[i] = -kInfinity;
    row_sum[i] = 0;
  }
  load_tile<kRows, kHeadDim>(q_tile, q, p.q_stride, first_query, p.context, p.head_dim);
  const int first_tile = first_key_of_tile<kRows>(starts, first_query, p.context) / kRows;
  for (int tile = first_query / kRows; tile >= first_tile; --tile) {
    load_tile<kRows, kHeadDim>(kv_tile, k, p.k_stride, tile * kRows, p.context, p.head_dim);
    __syncthreads();
    float scores[kPer][kPer];
    multiply_rows<kRows, kHeadDim>(scores, q_tile, kv_tile);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const int query = first_query + thread_row() + 16 * i;
      float largest = row_max[i];
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        const int key = tile * kRows + thread_column() + 16 * j;
        scores[i][j] = key > query || key < row_start[i] ? -kInfinity : scores[i][j] * p.scale;
        largest = fmaxf(largest, scores[i][j]);
      }
#pragma unroll
      for (int step = 8; step > 0; step /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
      }
      const float offset = largest == -kInfinity ? 0.f : largest;  // no key seen yet: sums stay 0
      const float shrink = expf(row_max[i] - offset);
      row_max[i] = largest;
      row_sum[i] *= shrink;
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        scores[i][j] = expf(scores[i][j] - offset);
        row_sum[i] += scores[i][j];
      }
#pragma unroll
      for (int c = 0; c < kHeadDim / 16; ++c) out[i][c] *= shrink;
    }
    store_scores<kRows>(p_tile, scores);
    __syncthreads();  // keys are read, probabilities written
    load_tile<kRows, kHeadDim>(kv_tile, v, p.v_stride, tile * kRows, p.context, p.head_dim);
    __syncthreads();
    add_product<kRows, kHeadDim, false>(out, p_tile, kv_tile);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int query = first_query + thread_row() + 16 * i;
#pragma unroll
    for (int step = 8; step > 0; step /= 2) row_sum[i] += __shfl_xor_sync(0xffffffffu, row_sum[i], step);
    if (query >= p.context) continue;
    store_row<kHeadDim>(p.o + ((batch_row + query) * p.heads + head) * p.head_dim, out[i], 1.f / row_sum[i],
                        p.head_dim);
    if (thread_column() == 0) {
      p.lse[batch_row * p.heads + static_cast<int64_t>(head) * p.context + query] =
          row_max[i] + logf(row_sum[i]);
    }
  }
}

template <int kHeadDim, int kRows>
void launch(const ForwardParameters& p, int64_t batch, cudaStream_t stream) {
  constexpr int kBytes = (2 * Tile<kRows, kHeadDim>::kFloats + ScoreTile<kRows>::kFloats) * 4;
  static_assert(kBytes <= 99 * 1024);
  require(cudaFuncSetAttribute(forward_kernel<kHeadDim, kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kBytes),
          "Reserving shared memory for FP32 attention's forward");
  const dim3 grid(static_cast<unsigned>((p.context + kRows - 1) / kRows), static_cast<unsigned>(p.heads),
                  static_cast<unsigned>(batch));
  forward_kernel<kHeadDim, kRows><<<grid, kThreads, kBytes, stream>>>(p);
  require(cudaGetLastError(), "Launching FP32 attention's forward");
}

}  // namespace

void forward_fp32(const AttentionForwardCall& call, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  const ForwardParameters p{static_cast<const float*>(call.q.data),
                            static_cast<const float*>(call.k.data),
                            static_cast<const float*>(call.v.data),
                            call.q.row_stride,
                            call.k.row_stride,
                            call.v.row_stride,
                            call.document_start,
                            static_cast<float*>(call.o),
                            call.lse,
                            static_cast<int>(s.context),
                            static_cast<int>(s.heads),
                            static_cast<int>(s.heads / s.kv_heads),
                            static_cast<int>(s.head_dim),
                            static_cast<float>(call.scale)};
  if (s.head_dim <= 64) return launch<64, 64>(p, s.batch, stream);
  if (s.head_dim <= 128) return launch<128, 64>(p, s.batch, stream);
  launch<256, 32>(p, s.batch, stream);
}

}  // namespace lathe::attention
