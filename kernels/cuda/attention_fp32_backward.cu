// FP32 attention backward, for parity with an FP32 framework. Scores are computed twice: once with a block
// per query tile for dq, once with a block per key tile for dk and dv. Every sum has one owner and one order.
#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_fp32_tile.cuh"

namespace lathe::attention {
namespace {

using namespace fp32;

struct BackwardParameters {
  const float *q, *k, *v, *o, *d_o;
  const float* lse;
  float *dq, *dk, *dv;
  float* delta;  // [B,H,padded context]
  int64_t q_stride, k_stride, v_stride, dq_stride, dk_stride, dv_stride, padded_context;
  const int32_t* document_start;
  int context, heads, kv_heads, head_dim;
  float scale;
};

// delta = sum over d of o·dO. Grid (context / 8, H, B), a warp a row.
__global__ void __launch_bounds__(kThreads) delta_kernel(const __grid_constant__ BackwardParameters p) {
  const int t = static_cast<int>(blockIdx.x * 8 + threadIdx.x / 32);
  if (t >= p.context) return;
  const int64_t batch = blockIdx.z;
  const int64_t row = ((batch * p.context + t) * p.heads + blockIdx.y) * p.head_dim;
  float sum = 0;
  for (int d = static_cast<int>(threadIdx.x) % 32; d < p.head_dim; d += 32) {
    sum = fmaf(p.o[row + d], p.d_o[row + d], sum);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) p.delta[(batch * p.heads + blockIdx.y) * p.padded_context + t] = sum;
}

// From q·k and dO·v of a tile: probabilities in place of scores, dS in place of dp.
template <int kRows>
__device__ void probabilities_and_gradients(float (&scores)[kRows / 16][kRows / 16],
                                            float (&dp)[kRows / 16][kRows / 16], const BackwardParameters& p,
                                            const int32_t* starts, int64_t head_row, int first_query,
                                            int first_key_row) {
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
    const int query = first_query + thread_row() + 16 * i;
    const bool exists = query < p.context;
    const float lse = exists ? p.lse[head_row * p.context + query] : 0.f;
    const float delta = exists ? p.delta[head_row * p.padded_context + query] : 0.f;
    const int start = exists ? first_key(starts, query) : 0;
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const int key = first_key_row + thread_column() + 16 * j;
      const bool seen = exists && key <= query && key >= start;
      scores[i][j] = seen ? expf(scores[i][j] * p.scale - lse) : 0.f;
      dp[i][j] = scores[i][j] * (dp[i][j] - delta);
    }
  }
}

// Grid (query tiles, H, B).
template <int kHeadDim, int kRows>
__global__ void __launch_bounds__(kThreads) dq_kernel(const __grid_constant__ BackwardParameters p) {
  extern __shared__ __align__(16) float shared_floats[];
  constexpr int kTile = Tile<kRows, kHeadDim>::kFloats;
  float *const q_tile = shared_floats, *const do_tile = q_tile + kTile, *const k_tile = do_tile + kTile,
               *const v_tile = k_tile + kTile, *const ds_tile = v_tile + kTile;
  const int first_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int head = static_cast<int>(blockIdx.y);
  const int kv_column = head / (p.heads / p.kv_heads) * p.head_dim;
  const int64_t batch_row = static_cast<int64_t>(blockIdx.z) * p.context;
  const int64_t head_row = static_cast<int64_t>(blockIdx.z) * p.heads + head;
  const int32_t* starts = p.document_start == nullptr ? nullptr : p.document_start + batch_row;
  load_tile<kRows, kHeadDim>(q_tile, p.q + batch_row * p.q_stride + head * p.head_dim, p.q_stride,
                             first_query, p.context, p.head_dim);
  load_tile<kRows, kHeadDim>(do_tile, p.d_o + (batch_row * p.heads + head) * p.head_dim,
                             static_cast<int64_t>(p.heads) * p.head_dim, first_query, p.context, p.head_dim);
  float dq[kRows / 16][kHeadDim / 16] = {};
  const int first_tile = first_key_of_tile<kRows>(starts, first_query, p.context) / kRows;
  for (int tile = first_tile; tile <= first_query / kRows; ++tile) {
    load_tile<kRows, kHeadDim>(k_tile, p.k + batch_row * p.k_stride + kv_column, p.k_stride, tile * kRows,
                               p.context, p.head_dim);
    load_tile<kRows, kHeadDim>(v_tile, p.v + batch_row * p.v_stride + kv_column, p.v_stride, tile * kRows,
                               p.context, p.head_dim);
    __syncthreads();
    float scores[kRows / 16][kRows / 16];
    float dp[kRows / 16][kRows / 16];
    multiply_rows<kRows, kHeadDim>(scores, q_tile, k_tile);
    multiply_rows<kRows, kHeadDim>(dp, do_tile, v_tile);
    probabilities_and_gradients<kRows>(scores, dp, p, starts, head_row, first_query, tile * kRows);
    store_scores<kRows>(ds_tile, dp);
    __syncthreads();
    add_product<kRows, kHeadDim, false>(dq, ds_tile, k_tile);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
    const int query = first_query + thread_row() + 16 * i;
    if (query >= p.context) continue;
    store_row<kHeadDim>(p.dq + (batch_row + query) * p.dq_stride + head * p.head_dim, dq[i], p.scale,
                        p.head_dim);
  }
}

// Grid (key tiles, K, B); a key's longest list of queries first.
template <int kHeadDim, int kRows>
__global__ void __launch_bounds__(kThreads) dk_dv_kernel(const __grid_constant__ BackwardParameters p) {
  extern __shared__ __align__(16) float shared_floats[];
  constexpr int kTile = Tile<kRows, kHeadDim>::kFloats;
  float *const q_tile = shared_floats, *const do_tile = q_tile + kTile, *const k_tile = do_tile + kTile,
               *const v_tile = k_tile + kTile, *const p_tile = v_tile + kTile,
               *const ds_tile = p_tile + ScoreTile<kRows>::kFloats;
  const int first_key_row = static_cast<int>(blockIdx.x) * kRows;
  const int kv_head = static_cast<int>(blockIdx.y);
  const int group = p.heads / p.kv_heads;
  const int64_t batch_row = static_cast<int64_t>(blockIdx.z) * p.context;
  const int32_t* starts = p.document_start == nullptr ? nullptr : p.document_start + batch_row;
  load_tile<kRows, kHeadDim>(k_tile, p.k + batch_row * p.k_stride + kv_head * p.head_dim, p.k_stride,
                             first_key_row, p.context, p.head_dim);
  load_tile<kRows, kHeadDim>(v_tile, p.v + batch_row * p.v_stride + kv_head * p.head_dim, p.v_stride,
                             first_key_row, p.context, p.head_dim);
  float dk[kRows / 16][kHeadDim / 16] = {};
  float dv[kRows / 16][kHeadDim / 16] = {};
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const int64_t head_row = static_cast<int64_t>(blockIdx.z) * p.heads + head;
    for (int first_query = first_key_row; first_query < p.context; first_query += kRows) {
      load_tile<kRows, kHeadDim>(q_tile, p.q + batch_row * p.q_stride + head * p.head_dim, p.q_stride,
                                 first_query, p.context, p.head_dim);
      load_tile<kRows, kHeadDim>(do_tile, p.d_o + (batch_row * p.heads + head) * p.head_dim,
                                 static_cast<int64_t>(p.heads) * p.head_dim, first_query, p.context,
                                 p.head_dim);
      __syncthreads();
      float scores[kRows / 16][kRows / 16];
      float dp[kRows / 16][kRows / 16];
      multiply_rows<kRows, kHeadDim>(scores, q_tile, k_tile);
      multiply_rows<kRows, kHeadDim>(dp, do_tile, v_tile);
      probabilities_and_gradients<kRows>(scores, dp, p, starts, head_row, first_query, first_key_row);
      store_scores<kRows>(p_tile, scores);
      store_scores<kRows>(ds_tile, dp);
      __syncthreads();
      add_product<kRows, kHeadDim, true>(dv, p_tile, do_tile);
      add_product<kRows, kHeadDim, true>(dk, ds_tile, q_tile);
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
    const int key = first_key_row + thread_row() + 16 * i;
    if (key >= p.context) continue;
    store_row<kHeadDim>(p.dk + (batch_row + key) * p.dk_stride + kv_head * p.head_dim, dk[i], p.scale,
                        p.head_dim);
    store_row<kHeadDim>(p.dv + (batch_row + key) * p.dv_stride + kv_head * p.head_dim, dv[i], 1.f,
                        p.head_dim);
  }
}

template <int kHeadDim, int kRows>
void launch(const BackwardParameters& p, int64_t batch, cudaStream_t stream) {
  constexpr int kDqBytes = (4 * Tile<kRows, kHeadDim>::kFloats + ScoreTile<kRows>::kFloats) * 4;
  constexpr int kDkBytes = kDqBytes + ScoreTile<kRows>::kFloats * 4;
  static_assert(kDkBytes <= 99 * 1024);
  require(
      cudaFuncSetAttribute(dq_kernel<kHeadDim, kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize, kDqBytes),
      "Reserving shared memory for FP32 attention's backward");
  require(cudaFuncSetAttribute(dk_dv_kernel<kHeadDim, kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kDkBytes),
          "Reserving shared memory for FP32 attention's backward");
  dim3 grid(static_cast<unsigned>((p.context + 7) / 8), static_cast<unsigned>(p.heads),
            static_cast<unsigned>(batch));
  delta_kernel<<<grid, kThreads, 0, stream>>>(p);
  grid.x = static_cast<unsigned>((p.context + kRows - 1) / kRows);
  dq_kernel<kHeadDim, kRows><<<grid, kThreads, kDqBytes, stream>>>(p);
  grid.y = static_cast<unsigned>(p.kv_heads);
  dk_dv_kernel<kHeadDim, kRows><<<grid, kThreads, kDkBytes, stream>>>(p);
  require(cudaGetLastError(), "Launching FP32 attention's backward");
}

}  // namespace

void backward_fp32(const AttentionBackwardCall& call, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  const Workspace workspace = cut_workspace(s, call.dtype, call.workspace);
  BackwardParameters p{};
  p.q = static_cast<const float*>(call.q.data);
  p.k = static_cast<const float*>(call.k.data);
  p.v = static_cast<const float*>(call.v.data);
  p.o = static_cast<const float*>(call.o);
  p.d_o = static_cast<const float*>(call.d_o);
  p.lse = call.lse;
  p.dq = static_cast<float*>(call.dq.data);
  p.dk = static_cast<float*>(call.dk.data);
  p.dv = static_cast<float*>(call.dv.data);
  p.delta = workspace.delta;
  p.q_stride = call.q.row_stride;
  p.k_stride = call.k.row_stride;
  p.v_stride = call.v.row_stride;
  p.dq_stride = call.dq.row_stride;
  p.dk_stride = call.dk.row_stride;
  p.dv_stride = call.dv.row_stride;
  p.padded_context = workspace.padded_context;
  p.document_start = call.document_start;
  p.context = static_cast<int>(s.context);
  p.heads = static_cast<int>(s.heads);
  p.kv_heads = static_cast<int>(s.kv_heads);
  p.head_dim = static_cast<int>(s.head_dim);
  p.scale = static_cast<float>(call.scale);
  if (s.head_dim <= 64) return launch<64, 32>(p, s.batch, stream);
  if (s.head_dim <= 128) return launch<128, 32>(p, s.batch, stream);
  launch<256, 16>(p, s.batch, stream);
}

}  // namespace lathe::attention
