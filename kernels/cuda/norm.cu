// RMSNorm: rstd = 1/sqrt(mean(x²) + eps), y = x · rstd · w. Up to 2048 columns a warp owns a row and needs no
// barrier; beyond, a block does.
#include <algorithm>

#include "kernels/cuda/norm_rows.cuh"

namespace lathe::cuda {

namespace {

constexpr int kWarpVectors = 8;  // a lane's share of a row that a warp owns
constexpr int kWarpThreads = 256;

template <class T, int N>
__device__ inline void load_row(const T* x, int columns, Vec<T, N> (&in)[kWarpVectors]) {
#pragma unroll
  for (int v = 0; v < kWarpVectors; ++v) {
    const int column = (v * 32 + static_cast<int>(threadIdx.x & 31)) * N;
    if (column < columns) in[v] = load_vec<N>(x + column);
  }
}

template <class T, int N>
__global__ void __launch_bounds__(kWarpThreads)
    rms_norm_warp_kernel(const T* x, const float* weight, T* y, float* rstd_out, NormRows rows, float eps) {
  await_predecessor();
  const int lane = threadIdx.x & 31;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kWarpThreads / 32);
  int64_t row = static_cast<int64_t>(blockIdx.x) * (kWarpThreads / 32) + (threadIdx.x >> 5);
  if (row >= rows.count) return;
  Vec<T, N> in[kWarpVectors], next[kWarpVectors];
  load_row(x + row * rows.x, rows.columns, in);
  float w[kWarpVectors][N];
#pragma unroll
  for (int v = 0; v < kWarpVectors; ++v) {
    const int column = (v * 32 + lane) * N;
    if (column < rows.columns) load_wide<N>(weight + column, w[v]);
  }
  for (; row < rows.count; row += warps) {
    if (row + warps < rows.count) load_row(x + (row + warps) * rows.x, rows.columns, next);
    float squares = 0;
#pragma unroll
    for (int v = 0; v < kWarpVectors; ++v) {
      if ((v * 32 + lane) * N >= rows.columns) continue;
      float wide[N];
      widen(in[v], wide);
#pragma unroll
      for (int i = 0; i < N; ++i) squares += wide[i] * wide[i];
    }
    const float rstd = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(rows.columns) + eps);
#pragma unroll
    for (int v = 0; v < kWarpVectors; ++v) {
      const int column = (v * 32 + lane) * N;
      if (column >= rows.columns) continue;
      float wide[N];
      widen(in[v], wide);
      store_vec(y + row * rows.y + column, normalised<T>(wide, rstd, w[v]));
    }
    if (rstd_out != nullptr && lane == 0) rstd_out[row] = rstd;
#pragma unroll
    for (int v = 0; v < kWarpVectors; ++v) in[v] = next[v];
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

template <class T, int N>
Launch bind_n(const Binding& b) {
  using S = slot::RmsNorm;
  const NormRows rows{b.rows(S::X),
                      static_cast<int>(b.shape(S::X)[b.shape(S::X).rank - 1]),
                      b.row_stride(S::X),
                      b.row_stride(S::Y),
                      0,
                      0};
  const T* x = b.data<T>(S::X);
  const float* weight = b.data<float>(S::Weight);
  T* y = b.data<T>(S::Y);
  float* rstd = b.data<float>(S::Rstd);
  const float eps = static_cast<float>(b.attributes().eps);
  const auto launch = [&](auto kernel, unsigned grid, int threads) -> Launch {
    return [=](cudaStream_t stream) {
      launch_kernel("rms norm", kernel, grid, threads, 0, stream, x, weight, y, rstd, rows, eps);
    };
  };
  if (rows.columns <= 32 * N * kWarpVectors) {
    const int64_t blocks = std::min<int64_t>(ceil_div(rows.count, kWarpThreads / 32), b.multiprocessors());
    return launch(rms_norm_warp_kernel<T, N>, grid_size(b, blocks), kWarpThreads);
  }
  const RowLayout layout = row_layout(b, rows.columns, N);
  const unsigned grid = grid_size(b, rows.count);
  switch (layout.vectors) {
    case 1:
      return launch(rms_norm_block_kernel<T, N, 1>, grid, layout.threads);
    case 2:
      return launch(rms_norm_block_kernel<T, N, 2>, grid, layout.threads);
    default:
      return launch(rms_norm_block_kernel<T, N, 4>, grid, layout.threads);
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
