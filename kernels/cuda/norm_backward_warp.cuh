// RMSNorm backward for rows that one warp holds in registers: x, dy and the residual's gradient of a row are
// all in flight at once, the projection is a sum over one warp, and no thread waits for another until the
// rows are done.
#pragma once

#include "kernels/cuda/norm_rows.cuh"

namespace lathe::cuda {

inline constexpr int kNormWarps = 4;  // a block; two blocks a multiprocessor leave 255 registers a thread
inline constexpr int kNormMostVectors = 8;  // a lane, of 16 bytes: 2048 columns in BF16

// Hides from the compiler that the value is the one it was.
template <class T, int N>
__device__ inline void forget(Vec<T, N>& value) {
  static_assert(sizeof(value) == 16);
  uint32_t* const words = reinterpret_cast<uint32_t*>(&value);
  asm volatile("" : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]));
}

// partial: [gridDim.x, columns], this block's share of dw. V vectors a lane; lane l owns columns (v·32 + l)·N
// on.
template <class T, int N, int V>
__global__ void __launch_bounds__(kNormWarps * 32, 2)
    rms_norm_backward_warp_kernel(const T* x, const float* weight, const float* rstd, const T* dy,
                                  T* residual, bool accumulate, T* y, float* partial, NormRows rows) {
  await_predecessor();
  extern __shared__ __align__(16) float shared[];  // the weights, later the block's dw
  for (int c = threadIdx.x; c < rows.columns; c += blockDim.x) shared[c] = weight[c];
  __syncthreads();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kNormWarps;
  const float inverse_columns = 1.0f / static_cast<float>(rows.columns);
  float dw[V][N] = {};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kNormWarps + warp; row < rows.count; row += stride) {
    Vec<T, N> xs[V], gs[V], before[V];
    const float scale = rstd[row];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
      xs[v] = load_vec<N>(x + row * rows.x + column);
      gs[v] = load_vec<N>(dy + row * rows.dy + column);
      if (accumulate) before[v] = load_vec<N>(residual + row * rows.residual + column);
    }
    float projection = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
      float a[N], g[N];
      widen(xs[v], a);
      widen(gs[v], g);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float x_hat = a[i] * scale;
        projection += shared[column + i] * g[i] * x_hat;
        dw[v][i] += g[i] * x_hat;
      }
    }
    const float mean = warp_sum(projection) * inverse_columns;
    // Otherwise the compiler keeps every product of the first pass for the second, and spills.
    asm volatile("" ::: "memory");
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
      forget(xs[v]);
      forget(gs[v]);
      float a[N], g[N], w[N], dx[N];
      widen(xs[v], a);
      widen(gs[v], g);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        w[i] = shared[column + i];
        dx[i] = scale * (w[i] * g[i] - a[i] * scale * mean);
      }
      if (accumulate) {
        float b[N];
        widen(before[v], b);
#pragma unroll
        for (int i = 0; i < N; ++i) dx[i] += b[i];
      }
      store_vec(residual + row * rows.residual + column, narrow<T>(dx));
      if (y != nullptr) store_vec(y + row * rows.y + column, normalised<T>(a, scale, w));
    }
  }
  // The warps' shares, added in their order.
  for (int turn = 0; turn < kNormWarps; ++turn) {
    __syncthreads();
    if (warp != turn) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) shared[column + i] = (turn == 0 ? 0.0f : shared[column + i]) + dw[v][i];
    }
  }
  __syncthreads();
  for (int c = threadIdx.x; c < rows.columns; c += blockDim.x) {
    partial[static_cast<int64_t>(blockIdx.x) * rows.columns + c] = shared[c];
  }
}

}  // namespace lathe::cuda
