// RMSNorm backward for rows that one warp works on alone (RowRing): the projection is a sum over one warp,
// and the lane's share of dw stays in registers until the rows are done.
#pragma once

#include "kernels/cuda/norm_rows.cuh"

namespace lathe::cuda {

inline constexpr int kNormBackwardWarps = 8;  // a block, at most

// partial: [gridDim.x, columns], this block's share of dw. V vectors a lane.
template <class T, int N, int V>
__global__ void __launch_bounds__(kNormBackwardWarps * 32, 1)
    rms_norm_backward_warp_kernel(const T* x, const float* weight, const float* rstd, const T* dy,
                                  T* residual, bool accumulate, T* y, float* partial, NormRows rows) {
  await_predecessor();
  extern __shared__ __align__(16) unsigned char shared[];
  const int warps = static_cast<int>(blockDim.x >> 5), warp = static_cast<int>(threadIdx.x >> 5);
  const int lane = static_cast<int>(threadIdx.x & 31);
  const RowRing<T, N, V, 3> ring(shared);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * warps;
  const auto fetch = [&](int stage, int64_t row) {
    if (row < rows.count) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int column = (v * 32 + lane) * N;
        if (column >= rows.columns) continue;
        copy_ahead(ring.at(stage, 0, v), x + row * rows.x + column);
        copy_ahead(ring.at(stage, 1, v), dy + row * rows.dy + column);
        if (accumulate) copy_ahead(ring.at(stage, 2, v), residual + row * rows.residual + column);
      }
    }
    copies_commit();
  };

  int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp;
  fetch(0, row);
  float w[V][N], dw[V][N] = {};
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * 32 + lane) * N;
    if (column < rows.columns) load_wide<N>(weight + column, w[v]);
  }
  const float inverse_columns = 1.0f / static_cast<float>(rows.columns);
  float next_scale = row < rows.count ? rstd[row] : 0.0f;
  int stage = 0;
  for (; row < rows.count; row += stride, stage ^= 1) {
    fetch(stage ^ 1, row + stride);
    const float scale = next_scale;
    if (row + stride < rows.count) next_scale = rstd[row + stride];
    copies_wait<1>();
    float projection = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if ((v * 32 + lane) * N >= rows.columns) continue;
      float xs[N], g[N];
      widen(*ring.at(stage, 0, v), xs);
      widen(*ring.at(stage, 1, v), g);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float share = g[i] * (xs[i] * scale);
        projection += w[v][i] * share;
        dw[v][i] += share;
      }
    }
    const float mean = warp_sum(projection) * inverse_columns;
    // Otherwise the compiler keeps what it read for the second pass, and spills.
    asm volatile("" ::: "memory");
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
      float xs[N], g[N], dx[N];
      widen(*ring.at(stage, 0, v), xs);
      widen(*ring.at(stage, 1, v), g);
#pragma unroll
      for (int i = 0; i < N; ++i) dx[i] = scale * (w[v][i] * g[i] - xs[i] * scale * mean);
      if (accumulate) {
        float before[N];
        widen(*ring.at(stage, 2, v), before);
#pragma unroll
        for (int i = 0; i < N; ++i) dx[i] += before[i];
      }
      store_vec(residual + row * rows.residual + column, narrow<T>(dx));
      if (y != nullptr) store_vec(y + row * rows.y + column, normalised<T>(xs, scale, w[v]));
    }
  }

  // The warps' shares take the rings' place and are added in their order.
  copies_wait<0>();
  __syncthreads();
  static_assert(RowRing<T, N, V, 3>::kWarpBytes >= V * 32 * N * 4);
  float* const shares = reinterpret_cast<float*>(shared);
#pragma unroll
  for (int v = 0; v < V; ++v) store_vec(shares + ((warp * V + v) * 32 + lane) * N, narrow<float>(dw[v]));
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < rows.columns;
       column += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int other = 0; other < warps; ++other) sum += shares[other * V * 32 * N + column];
    partial[static_cast<int64_t>(blockIdx.x) * rows.columns + column] = sum;
  }
}

}  // namespace lathe::cuda
