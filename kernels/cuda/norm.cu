// RMSNorm: rstd = 1/sqrt(mean(x²) + eps), y = x · rstd · w. Up to 2048 columns a warp owns a row and needs no
// barrier; beyond, a block does.
#include <algorithm>

#include "kernels/cuda/norm_rows.cuh"

namespace lathe::cuda {

namespace {

constexpr int kMostWarps = 16;  // a block of warps that own rows

template <class T, int N, int V>
__global__ void __launch_bounds__(kMostWarps * 32)
    rms_norm_warp_kernel(const T* x, const float* weight, T* y, float* rstd_out, NormRows rows, float eps) {
  await_predecessor();
  extern __shared__ __align__(16) unsigned char shared[];
  const int warps = static_cast<int>(blockDim.x >> 5), lane = static_cast<int>(threadIdx.x & 31);
  const RowRing<T, N, V, 1> ring(shared);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * warps;
  const auto fetch = [&](int stage, int64_t row) {
    if (row < rows.count) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int column = (v * 32 + lane) * N;
        if (column < rows.columns) copy_ahead(ring.at(stage, 0, v), x + row * rows.x + column);
      }
    }
    copies_commit();
  };
  int64_t row = static_cast<int64_t>(blockIdx.x) * warps + (threadIdx.x >> 5);
  fetch(0, row);
  float w[V][N];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * 32 + lane) * N;
    if (column < rows.columns) load_wide<N>(weight + column, w[v]);
  }
  int stage = 0;
  for (; row < rows.count; row += stride, stage ^= 1) {
    fetch(stage ^ 1, row + stride);
    copies_wait<1>();
    float squares = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if ((v * 32 + lane) * N >= rows.columns) continue;
      float wide[N];
      widen(*ring.at(stage, 0, v), wide);
#pragma unroll
      for (int i = 0; i < N; ++i) squares += wide[i] * wide[i];
    }
    const float rstd = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(rows.columns) + eps);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
      float wide[N];
      widen(*ring.at(stage, 0, v), wide);
      store_vec(y + row * rows.y + column, normalised<T>(wide, rstd, w[v]));
    }
    if (rstd_out != nullptr && lane == 0) rstd_out[row] = rstd;
  }
}

template <class T, int N, int V>
__global__ void __launch_bounds__(most_row_threads(V))
    rms_norm_block_kernel(const T* x, const float* weight, T* y, float* rstd_out, NormRows rows, float eps) {
  await_predecessor();
  __shared__ float scratch[32];
  const int64_t row = blockIdx.x;
  Vec<T, N> in[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * blockDim.x + threadIdx.x) * N;
    if (column < rows.columns) in[v] = load_vec<N>(x + row * rows.x + column);
  }
  float squares[1] = {0};
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if ((v * blockDim.x + threadIdx.x) * N >= rows.columns) continue;
    float wide[N];
    widen(in[v], wide);
#pragma unroll
    for (int i = 0; i < N; ++i) squares[0] += wide[i] * wide[i];
  }
  block_sum(squares, scratch);
  const float rstd = 1.0f / sqrtf(squares[0] / static_cast<float>(rows.columns) + eps);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * blockDim.x + threadIdx.x) * N;
    if (column >= rows.columns) continue;
    float wide[N], w[N];
    widen(in[v], wide);
    load_wide<N>(weight + column, w);
    store_vec(y + row * rows.y + column, normalised<T>(wide, rstd, w));
  }
  if (rstd_out != nullptr && threadIdx.x == 0) rstd_out[row] = rstd;
}

// A launch of any of the kernels above.
template <class T, class Kernel>
Launch bind_kernel(const Binding& b, const NormRows& rows, Kernel* kernel, int64_t blocks, int threads,
                   int shared) {
  using S = slot::RmsNorm;
  const T* x = b.data<T>(S::X);
  const float* weight = b.data<float>(S::Weight);
  T* y = b.data<T>(S::Y);
  float* rstd = b.data<float>(S::Rstd);
  const float eps = static_cast<float>(b.attributes().eps);
  const unsigned grid = grid_size(b, blocks);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "reserving shared memory for the norm");
  return [=](cudaStream_t stream) {
    launch_kernel("rms norm", kernel, grid, threads, static_cast<size_t>(shared), stream, x, weight, y, rstd,
                  rows, eps);
  };
}

// Rows of up to kRingMostVectors vectors a lane: the smallest kernel that holds them.
template <class T, int N, int V = 1>
Launch bind_warp(const Binding& b, const NormRows& rows) {
  if constexpr (V < kRingMostVectors) {
    if (rows.columns > V * 32 * N) return bind_warp<T, N, V + 1>(b, rows);
  }
  constexpr int kBytes = RowRing<T, N, V, 1>::kWarpBytes;
  const int warps = ring_warps(kMostWarps, kBytes);
  const int64_t blocks =
      std::min<int64_t>(ceil_div(rows.count, static_cast<int64_t>(warps)), b.multiprocessors());
  return bind_kernel<T>(b, rows, rms_norm_warp_kernel<T, N, V>, blocks, warps * 32, warps * kBytes);
}

template <class T, int N>
Launch bind_n(const Binding& b) {
  using S = slot::RmsNorm;
  const NormRows rows{b.rows(S::X),
                      static_cast<int>(b.shape(S::X)[b.shape(S::X).rank - 1]),
                      b.row_stride(S::X),
                      b.row_stride(S::Y),
                      0,
                      0};
  if constexpr (N > 1) {
    if (rows.columns <= kRingMostVectors * 32 * N) return bind_warp<T, N>(b, rows);
  }
  const RowLayout layout = row_layout(b, rows.columns, N);
  switch (layout.vectors) {
    case 1:
      return bind_kernel<T>(b, rows, rms_norm_block_kernel<T, N, 1>, rows.count, layout.threads, 0);
    case 2:
      return bind_kernel<T>(b, rows, rms_norm_block_kernel<T, N, 2>, rows.count, layout.threads, 0);
    default:
      return bind_kernel<T>(b, rows, rms_norm_block_kernel<T, N, 4>, rows.count, layout.threads, 0);
  }
}

template <class T>
struct Bind {
  static Launch bind(const Binding& b) {
    using S = slot::RmsNorm;
    return b.vectorised({S::X, S::Weight, S::Y}) ? bind_n<T, kLanes<T>>(b) : bind_n<T, 1>(b);
  }
};

}  // namespace

Launch bind_rms_norm(const Binding& binding) {
  return dispatch_float<Bind>(binding, slot::RmsNorm::X);
}

}  // namespace lathe::cuda
