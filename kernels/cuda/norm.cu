// RMSNorm forward and backward. One thread owns N neighbouring columns (V times over for wide rows), a block
// several rows at once, so that their loads are in flight together and share each weight.
//
//   rstd = 1/sqrt(mean(x²) + eps)          y  = x · rstd · w
//   dx = rstd · (w·dy − x̂ · mean(w·dy·x̂))  dw = Σ rows dy · x̂,   x̂ = x · rstd
//
// Weight gradients are summed per block, then over the blocks in a fixed order (second kernel).
#include <algorithm>

#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

struct Rows {
  int64_t count;
  int columns;
  int64_t x, y, dy, residual;  // row strides in elements
};

// The forward's y; the backward emits it again with these very operations.
template <class T, int N>
__device__ inline Vec<T, N> normalised(const float (&x)[N], float rstd, const float (&w)[N]) {
  float y[N];
#pragma unroll
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * w[i];
  return narrow<T>(y);
}

// A row takes at most max_threads(V) threads; the bound leaves the registers that V needs.
constexpr int max_threads(int vectors) {
  return vectors == 1 ? 256 : 512;
}

template <class T, int N, int V, int ROWS>
__global__ void __launch_bounds__(max_threads(V))
    rms_norm_kernel(const T* x, const float* weight, T* y, float* rstd_out, Rows rows, float eps) {
  __shared__ float scratch[ROWS * 32];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS;
  Vec<T, N> in[ROWS][V];
  float squares[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    squares[r] = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * blockDim.x + threadIdx.x) * N;
      if (first + r < rows.count && column < rows.columns)
        in[r][v] = load_vec<N>(x + (first + r) * rows.x + column);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * blockDim.x + threadIdx.x) * N;
      if (first + r >= rows.count || column >= rows.columns) continue;
      float wide[N];
      widen(in[r][v], wide);
#pragma unroll
      for (int i = 0; i < N; ++i) squares[r] += wide[i] * wide[i];
    }
  }
  block_sum(squares, scratch);
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
    squares[r] = 1.0f / sqrtf(squares[r] / static_cast<float>(rows.columns) + eps);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * blockDim.x + threadIdx.x) * N;
    if (column >= rows.columns) continue;
    float w[N];
    load_wide<N>(weight + column, w);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (first + r >= rows.count) continue;
      float wide[N];
      widen(in[r][v], wide);
      store_vec(y + (first + r) * rows.y + column, normalised<T>(wide, squares[r], w));
    }
  }
  if (rstd_out != nullptr && threadIdx.x == 0) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      if (first + r < rows.count) rstd_out[first + r] = squares[r];
  }
}

// partial: [gridDim.x, columns], this block's share of dw.
template <class T, int N, int V, int ROWS>
__global__ void __launch_bounds__(max_threads(V), V == 1 ? 2 : 1)
    rms_norm_backward_kernel(const T* x, const float* weight, const float* rstd, const T* dy, T* residual,
                             bool accumulate, T* y, float* partial, Rows rows) {
  __shared__ float scratch[2][ROWS * 32];  // alternates, so that one barrier an iteration is enough
  const float inverse_columns = 1.0f / static_cast<float>(rows.columns);
  float dw[V][N] = {};
  int turn = 0;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS; first < rows.count;
       first += static_cast<int64_t>(gridDim.x) * ROWS, turn ^= 1) {
    Vec<T, N> in[ROWS][V], gradient[ROWS][V], old[ROWS][V];
    float scale[ROWS], projection[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t row = first + r;
      projection[r] = 0;
      scale[r] = row < rows.count ? rstd[row] : 0.0f;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int column = (v * blockDim.x + threadIdx.x) * N;
        if (row >= rows.count || column >= rows.columns) continue;
        in[r][v] = load_vec<N>(x + row * rows.x + column);
        gradient[r][v] = load_vec<N>(dy + row * rows.dy + column);
        if (accumulate) old[r][v] = load_vec<N>(residual + row * rows.residual + column);
      }
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * blockDim.x + threadIdx.x) * N;
      if (column >= rows.columns) continue;
      float w[N];
      load_wide<N>(weight + column, w);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        if (first + r >= rows.count) continue;
        float xs[N], g[N];
        widen(in[r][v], xs);
        widen(gradient[r][v], g);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const float x_hat = xs[i] * scale[r];
          projection[r] += w[i] * g[i] * x_hat;
          dw[v][i] += g[i] * x_hat;
        }
      }
    }
    block_sum(projection, scratch[turn]);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = (v * blockDim.x + threadIdx.x) * N;
      if (column >= rows.columns) continue;
      float w[N];
      load_wide<N>(weight + column, w);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const int64_t row = first + r;
        if (row >= rows.count) continue;
        float xs[N], g[N], dx[N];
        widen(in[r][v], xs);
        widen(gradient[r][v], g);
        const float mean = projection[r] * inverse_columns;
#pragma unroll
        for (int i = 0; i < N; ++i) dx[i] = scale[r] * (w[i] * g[i] - xs[i] * scale[r] * mean);
        if (accumulate) {
          float before[N];
          widen(old[r][v], before);
#pragma unroll
          for (int i = 0; i < N; ++i) dx[i] += before[i];
        }
        store_vec(residual + row * rows.residual + column, narrow<T>(dx));
        if (y != nullptr) store_vec(y + row * rows.y + column, normalised<T>(xs, scale[r], w));
      }
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int column = (v * blockDim.x + threadIdx.x) * N;
    if (column >= rows.columns) continue;
#pragma unroll
    for (int i = 0; i < N; ++i)
      partial[static_cast<int64_t>(blockIdx.x) * rows.columns + column + i] = dw[v][i];
  }
}

// out[c] (+)= sum of partial[0..blocks)[c], in order of the blocks within 32 interleaved chains.
__global__ void reduce_partials_kernel(const float* partial, int blocks, int columns, float* out,
                                       bool accumulate) {
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

// Threads a block and vectors a thread for a row: as few vectors as the bound allows.
struct Layout {
  int threads, vectors;
};
Layout layout(const Binding& binding, int64_t columns, int lanes) {
  for (const int vectors : {1, 2, 4}) {
    const int64_t threads = ceil_div(ceil_div(columns, static_cast<int64_t>(lanes) * vectors), 32) * 32;
    if (threads <= max_threads(vectors)) return {static_cast<int>(threads), vectors};
  }
  throw Error(
      ErrorCode::Unsupported,
      describe(binding.op()) + ": rows of " + std::to_string(columns) + " columns are too wide.",
      "Use a hidden size of at most 16384 in BF16, 8192 in FP32 (2048 when it isn't a multiple of 8).");
}

template <class T, int N>
Launch bind_forward(const Binding& b) {
  using S = slot::RmsNorm;
  const Rows rows{b.rows(S::X),
                  static_cast<int>(b.shape(S::X)[b.shape(S::X).rank - 1]),
                  b.row_stride(S::X),
                  b.row_stride(S::Y),
                  0,
                  0};
  const Layout shape = layout(b, rows.columns, N);
  const T* x = b.data<T>(S::X);
  const float* weight = b.data<float>(S::Weight);
  T* y = b.data<T>(S::Y);
  float* rstd = b.data<float>(S::Rstd);
  const float eps = static_cast<float>(b.attributes().eps);
  const auto launch = [&](auto kernel, int rows_a_block) -> Launch {
    const unsigned grid = grid_size(b, ceil_div(rows.count, rows_a_block));
    return [=](cudaStream_t stream) {
      kernel<<<grid, shape.threads, 0, stream>>>(x, weight, y, rstd, rows, eps);
      check_launch("rms norm");
    };
  };
  switch (shape.vectors) {
    case 1:
      return launch(rms_norm_kernel<T, N, 1, 4>, 4);
    case 2:
      return launch(rms_norm_kernel<T, N, 2, 2>, 2);
    default:
      return launch(rms_norm_kernel<T, N, 4, 1>, 1);
  }
}

template <class T, int N>
Launch bind_backward(const Binding& b) {
  using S = slot::RmsNormBackward;
  const Rows rows{b.rows(S::X),        static_cast<int>(b.shape(S::X)[b.shape(S::X).rank - 1]),
                  b.row_stride(S::X),  b.has(S::Y) ? b.row_stride(S::Y) : 0,
                  b.row_stride(S::Dy), b.row_stride(S::DResidual)};
  const Layout shape = layout(b, rows.columns, N);
  const T* x = b.data<T>(S::X);
  const float* weight = b.data<float>(S::Weight);
  const float* rstd = b.data<float>(S::Rstd);
  const T* dy = b.data<T>(S::Dy);
  T* residual = b.data<T>(S::DResidual);
  T* y = b.data<T>(S::Y);
  float* dw = b.data<float>(S::DWeight);
  float* partial = static_cast<float*>(b.workspace());
  const bool accumulate_dx = b.accumulates(S::DResidual), accumulate_dw = b.accumulates(S::DWeight);
  const auto launch = [&](auto kernel, int rows_a_block) -> Launch {
    // Two blocks a multiprocessor hide each other's barriers; the workspace holds 512 partial sums.
    const int64_t wanted = std::min<int64_t>(512, 2LL * b.multiprocessors());
    const unsigned blocks = grid_size(b, std::min(ceil_div(rows.count, rows_a_block), wanted));
    b.need_workspace(static_cast<int64_t>(blocks) * rows.columns * 4);
    const unsigned column_blocks = static_cast<unsigned>(ceil_div(rows.columns, 32));
    return [=](cudaStream_t stream) {
      kernel<<<blocks, shape.threads, 0, stream>>>(x, weight, rstd, dy, residual, accumulate_dx, y, partial,
                                                   rows);
      check_launch("rms norm backward");
      reduce_partials_kernel<<<column_blocks, dim3(32, 32), 0, stream>>>(partial, static_cast<int>(blocks),
                                                                         rows.columns, dw, accumulate_dw);
      check_launch("rms norm weight gradient");
    };
  };
  switch (shape.vectors) {
    case 1:
      return launch(rms_norm_backward_kernel<T, N, 1, 2>, 2);
    case 2:
      return launch(rms_norm_backward_kernel<T, N, 2, 1>, 1);
    default:
      return launch(rms_norm_backward_kernel<T, N, 4, 1>, 1);
  }
}

template <class T>
struct Forward {
  static Launch bind(const Binding& b) {
    using S = slot::RmsNorm;
    return b.vectorised({S::X, S::Weight, S::Y}) ? bind_forward<T, kLanes<T>>(b) : bind_forward<T, 1>(b);
  }
};

template <class T>
struct Backward {
  static Launch bind(const Binding& b) {
    using S = slot::RmsNormBackward;
    return b.vectorised({S::X, S::Weight, S::Dy, S::DResidual, S::Y}) ? bind_backward<T, kLanes<T>>(b)
                                                                      : bind_backward<T, 1>(b);
  }
};

}  // namespace

Launch bind_rms_norm(const Binding& binding) {
  return dispatch_float<Forward>(binding, slot::RmsNorm::X);
}

Launch bind_rms_norm_backward(const Binding& binding) {
  return dispatch_float<Backward>(binding, slot::RmsNormBackward::X);
}

}  // namespace lathe::cuda
