// RMSNorm backward, with x̂ = x · rstd:
//   dx = rstd · (w·dy − x̂ · mean(w·dy·x̂)), added to the residual's gradient;  dw = Σ rows dy · x̂.
//
// One thread owns N neighbouring columns (V times over for wide rows) of all rows its block walks: its share
// of dw stays in registers, and what it will read next is already on its way into a piece of shared memory
// that it alone uses. A second kernel sums the blocks' shares in a fixed order.
#include <algorithm>

#include "kernels/cuda/norm_backward_warp.cuh"
#include "kernels/cuda/norm_rows.cuh"

namespace lathe::cuda {

namespace {

constexpr int kStages = 2;

// partial: [gridDim.x, columns], this block's share of dw.
template <class T, int N, int V, int ROWS>
__global__ void __launch_bounds__(most_row_threads(V), V == 1 ? 2 : 1)
    rms_norm_backward_kernel(const T* x, const float* weight, const float* rstd, const T* dy, T* residual,
                             bool accumulate, T* y, float* partial, NormRows rows) {
  await_predecessor();
  // [stage][vector of the stage][thread]: neighbouring threads' 16 bytes lie side by side.
  extern __shared__ __align__(16) unsigned char shared[];
  Vec<T, N>* const vectors = reinterpret_cast<Vec<T, N>*>(shared);
  Vec<float, 1>* const scales =
      reinterpret_cast<Vec<float, 1>*>(shared + kStages * ROWS * 3 * V * blockDim.x * sizeof(Vec<T, N>));
  __shared__ float scratch[2][ROWS * 32];  // alternates, so that one barrier a round is enough
  const auto vector_at = [&](int stage, int operand, int r, int v) {
    return vectors + (((stage * 3 + operand) * ROWS + r) * V + v) * blockDim.x + threadIdx.x;
  };
  const auto scale_at = [&](int stage, int r) {
    return scales + (stage * ROWS + r) * blockDim.x + threadIdx.x;
  };
  const int64_t stride = static_cast<int64_t>(gridDim.x) * ROWS;
  const auto fetch = [&](int stage, int64_t first) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t row = first + r;
      if (row >= rows.count) continue;
      copy_ahead(scale_at(stage, r), rstd + row);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int column = (v * blockDim.x + threadIdx.x) * N;
        if (column >= rows.columns) continue;
        copy_ahead(vector_at(stage, 0, r, v), x + row * rows.x + column);
        copy_ahead(vector_at(stage, 1, r, v), dy + row * rows.dy + column);
        if (accumulate) copy_ahead(vector_at(stage, 2, r, v), residual + row * rows.residual + column);
      }
    }
    copies_commit();
  };

  float w[V][N];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * blockDim.x + threadIdx.x) * N;
    if (column < rows.columns) load_wide<N>(weight + column, w[v]);
  }
  const float inverse_columns = 1.0f / static_cast<float>(rows.columns);
  float dw[V][N] = {};
  int turn = 0;
  int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS;
  fetch(0, first);
  for (; first < rows.count; first += stride, turn ^= 1) {
    fetch(turn ^ 1, first + stride);
    copies_wait<1>();
    float projection[ROWS], scale[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      projection[r] = 0;
      scale[r] = first + r < rows.count ? scale_at(turn, r)->v[0] : 0.0f;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int column = (v * blockDim.x + threadIdx.x) * N;
        if (first + r >= rows.count || column >= rows.columns) continue;
        float xs[N], g[N];
        widen(*vector_at(turn, 0, r, v), xs);
        widen(*vector_at(turn, 1, r, v), g);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const float x_hat = xs[i] * scale[r];
          projection[r] += w[v][i] * g[i] * x_hat;
          dw[v][i] += g[i] * x_hat;
        }
      }
    }
    block_sum(projection, scratch[turn]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t row = first + r;
      const float mean = projection[r] * inverse_columns;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int column = (v * blockDim.x + threadIdx.x) * N;
        if (row >= rows.count || column >= rows.columns) continue;
        float xs[N], g[N], dx[N];
        widen(*vector_at(turn, 0, r, v), xs);
        widen(*vector_at(turn, 1, r, v), g);
#pragma unroll
        for (int i = 0; i < N; ++i) dx[i] = scale[r] * (w[v][i] * g[i] - xs[i] * scale[r] * mean);
        if (accumulate) {
          float before[N];
          widen(*vector_at(turn, 2, r, v), before);
#pragma unroll
          for (int i = 0; i < N; ++i) dx[i] += before[i];
        }
        store_vec(residual + row * rows.residual + column, narrow<T>(dx));
        if (y != nullptr) store_vec(y + row * rows.y + column, normalised<T>(xs, scale[r], w[v]));
      }
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * blockDim.x + threadIdx.x) * N;
    if (column >= rows.columns) continue;
    store_vec(partial + static_cast<int64_t>(blockIdx.x) * rows.columns + column, narrow<float>(dw[v]));
  }
}

// out[c] (+)= sum of partial[0..blocks)[c], in order of the blocks within 32 interleaved chains.
__global__ void reduce_partials_kernel(const float* partial, int blocks, int columns, float* out,
                                       bool accumulate) {
  await_predecessor();
  __shared__ float sums[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (int b = threadIdx.y; b < blocks; b += 32) sum += partial[static_cast<int64_t>(b) * columns + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_sum(sums[threadIdx.x][threadIdx.y]);
  const int target = blockIdx.x * 32 + threadIdx.y;
  if (threadIdx.x == 0 && target < columns) out[target] = accumulate ? out[target] + sum : sum;
}

constexpr int kMostBlocks = 512;  // partial sums in the workspace

// A kernel that leaves one share of dw a block, and the sum of the shares.
template <class T, class Kernel>
Launch bind_kernel(const Binding& b, const NormRows& rows, Kernel* kernel, int threads, int shared,
                   int rows_a_block) {
  using S = slot::RmsNormBackward;
  const T* x = b.data<T>(S::X);
  const float* weight = b.data<float>(S::Weight);
  const float* rstd = b.data<float>(S::Rstd);
  const T* dy = b.data<T>(S::Dy);
  T* residual = b.data<T>(S::DResidual);
  T* y = b.data<T>(S::Y);
  float* dw = b.data<float>(S::DWeight);
  float* partial = static_cast<float*>(b.workspace());
  const bool accumulate_dx = b.accumulates(S::DResidual), accumulate_dw = b.accumulates(S::DWeight);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "reserving shared memory for the norm's backward");
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, static_cast<size_t>(shared)),
        "reading the occupancy of the norm's backward");
  const int64_t resident = std::min<int64_t>(kMostBlocks, static_cast<int64_t>(each) * b.multiprocessors());
  const unsigned blocks =
      grid_size(b, std::min(ceil_div(rows.count, static_cast<int64_t>(rows_a_block)), resident));
  b.need_workspace(static_cast<int64_t>(blocks) * rows.columns * 4);
  const unsigned column_blocks = static_cast<unsigned>(ceil_div(rows.columns, 32));
  return [=](cudaStream_t stream) {
    launch_kernel("rms norm backward", kernel, blocks, threads, shared, stream, x, weight, rstd, dy, residual,
                  accumulate_dx, y, partial, rows);
    launch_kernel("rms norm weight gradient", reduce_partials_kernel, column_blocks, dim3(32, 32), 0, stream,
                  partial, static_cast<int>(blocks), rows.columns, dw, accumulate_dw);
  };
}

template <class T, int N, int V, int ROWS>
Launch bind_v(const Binding& b, const NormRows& rows, int threads) {
  const int shared = kStages * ROWS * (3 * V * static_cast<int>(sizeof(Vec<T, N>)) + 4) * threads;
  return bind_kernel<T>(b, rows, rms_norm_backward_kernel<T, N, V, ROWS>, threads, shared, ROWS);
}

// Rows of up to kRingMostVectors vectors a lane: the smallest kernel that holds them.
template <class T, int N, int V = 1>
Launch bind_warp(const Binding& b, const NormRows& rows) {
  if constexpr (V < kRingMostVectors) {
    if (rows.columns > V * 32 * N) return bind_warp<T, N, V + 1>(b, rows);
  }
  constexpr int kBytes = RowRing<T, N, V, 3>::kWarpBytes;
  const int warps = ring_warps(kNormBackwardWarps, kBytes);
  return bind_kernel<T>(b, rows, rms_norm_backward_warp_kernel<T, N, V>, warps * 32, warps * kBytes, warps);
}

template <class T, int N>
Launch bind_n(const Binding& b) {
  using S = slot::RmsNormBackward;
  const NormRows rows{b.rows(S::X),        static_cast<int>(b.shape(S::X)[b.shape(S::X).rank - 1]),
                      b.row_stride(S::X),  b.has(S::Y) ? b.row_stride(S::Y) : 0,
                      b.row_stride(S::Dy), b.row_stride(S::DResidual)};
  if constexpr (N > 1) {
    if (rows.columns <= kRingMostVectors * 32 * N) return bind_warp<T, N>(b, rows);
  }
  const RowLayout layout = row_layout(b, rows.columns, N);
  switch (layout.vectors) {
    case 1:
      return bind_v<T, N, 1, 4>(b, rows, layout.threads);
    case 2:
      return bind_v<T, N, 2, 1>(b, rows, layout.threads);
    default:
      return bind_v<T, N, 4, 1>(b, rows, layout.threads);
  }
}

template <class T>
struct Bind {
  static Launch bind(const Binding& b) {
    using S = slot::RmsNormBackward;
    return b.vectorised({S::X, S::Weight, S::Dy, S::DResidual, S::Y}) ? bind_n<T, kLanes<T>>(b)
                                                                      : bind_n<T, 1>(b);
  }
};

}  // namespace

Launch bind_rms_norm_backward(const Binding& binding) {
  return dispatch_float<Bind>(binding, slot::RmsNormBackward::X);
}

}  // namespace lathe::cuda
