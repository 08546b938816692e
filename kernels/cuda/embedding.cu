// Embedding lookup, its gradient, and the copy of one row.
//
// The gradient is deterministic without atomics: rows come sorted by token, the block at the start of a run
// of equal tokens sums the run in order, in FP32, and adds it to that token's row once.
#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

constexpr int kThreads = 256;

// Threads over (row, vector), the vector fastest.
template <class T, int N>
__global__ void embedding_kernel(const int* tokens, const T* weight, T* y, int64_t rows, int vectors,
                                 int64_t weight_stride, int64_t y_stride) {
  await_predecessor();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t row = index / vectors;
  if (row >= rows) return;
  const int column = static_cast<int>(index - row * vectors) * N;
  store_vec(y + row * y_stride + column, load_vec<N>(weight + tokens[row] * weight_stride + column));
}

// Block (i, c): position i of the order, columns [c * 32 * N, ...) on one warp, so that long runs spread over
// the chip.
template <class T, class G, int N>
__global__ void __launch_bounds__(32)
    embedding_backward_kernel(const int* tokens, const int* order, const T* dy, G* d_weight, int rows,
                              int columns, int64_t dy_stride, int64_t weight_stride) {
  await_predecessor();
  const int first = blockIdx.x;
  const int token = tokens[order[first]];
  if (first > 0 && tokens[order[first - 1]] == token) return;
  const int lane = threadIdx.x;
  const int column = (blockIdx.y * 32 + lane) * N;
  const bool inside = column < columns;
  constexpr int kFlight = 8;
  float sum[N] = {};
  bool same = true;
  for (int next = first; same; next += 32) {
    // The next 32 rows of the run at once; a lane beyond the run holds row −1.
    const int mine = next + lane;
    const int row = mine < rows ? order[mine] : -1;
    const bool belongs = row >= 0 && tokens[row] == token;
    const unsigned run = __ballot_sync(0xffffffffu, belongs);
    const int length = run == 0xffffffffu ? 32 : __ffs(static_cast<int>(~run)) - 1;
    same = length == 32;
    for (int r = 0; r < length; r += kFlight) {
      Vec<T, N> in[kFlight];
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        const int source = __shfl_sync(0xffffffffu, row, (r + f) & 31);
        if (r + f < length && inside) in[f] = load_vec<N>(dy + source * dy_stride + column);
      }
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        if (r + f >= length || !inside) continue;
        float x[N];
        widen(in[f], x);
#pragma unroll
        for (int i = 0; i < N; ++i) sum[i] += x[i];
      }
    }
  }
  if (!inside) return;
  G* out = d_weight + token * weight_stride + column;
  float old[N];
  load_wide<N>(out, old);
#pragma unroll
  for (int i = 0; i < N; ++i) old[i] += sum[i];
  store_vec(out, narrow<G>(old));
}

template <class T>
__global__ void gather_row_kernel(const T* x, const int* index, T* y, int columns, int64_t x_stride,
                                  int rows) {
  await_predecessor();
  const int row = min(max(*index, 0), rows - 1);
  const int column = blockIdx.x * kThreads + threadIdx.x;
  if (column < columns) y[column] = x[row * x_stride + column];
}

template <class T, int N>
Launch bind_forward(const Binding& b) {
  using S = slot::Embedding;
  const int* tokens = b.data<int>(S::Tokens);
  const T* weight = b.data<T>(S::Weight);
  T* y = b.data<T>(S::Y);
  const int64_t rows = b.rows(S::Y), weight_stride = b.row_stride(S::Weight), y_stride = b.row_stride(S::Y);
  const int vectors = static_cast<int>(b.shape(S::Y)[b.shape(S::Y).rank - 1] / N);
  const unsigned grid = grid_size(b, ceil_div(rows * vectors, kThreads));
  return [=](cudaStream_t stream) {
    launch_kernel("embedding", embedding_kernel<T, N>, grid, kThreads, 0, stream, tokens, weight, y, rows,
                  vectors, weight_stride, y_stride);
  };
}

template <class T, class G, int N>
Launch bind_backward(const Binding& b) {
  using S = slot::EmbeddingBackward;
  const int *tokens = b.data<int>(S::Tokens), *order = b.data<int>(S::Order);
  const T* dy = b.data<T>(S::Dy);
  G* d_weight = b.data<G>(S::DWeight);
  const int rows = static_cast<int>(b.rows(S::Dy));
  const int columns = static_cast<int>(b.shape(S::Dy)[b.shape(S::Dy).rank - 1]);
  const int64_t dy_stride = b.row_stride(S::Dy), weight_stride = b.row_stride(S::DWeight);
  const dim3 grid(grid_size(b, rows), static_cast<unsigned>(ceil_div(columns, 32 * N)));
  return [=](cudaStream_t stream) {
    launch_kernel("embedding backward", embedding_backward_kernel<T, G, N>, grid, 32, 0, stream, tokens,
                  order, dy, d_weight, rows, columns, dy_stride, weight_stride);
  };
}

template <class T>
struct Forward {
  static Launch bind(const Binding& b) {
    using S = slot::Embedding;
    return b.vectorised({S::Weight, S::Y}) ? bind_forward<T, kLanes<T>>(b) : bind_forward<T, 1>(b);
  }
};

template <class T>
struct Backward {
  template <class G>
  static Launch bind_gradient(const Binding& b) {
    using S = slot::EmbeddingBackward;
    return b.vectorised({S::Dy, S::DWeight}) ? bind_backward<T, G, kLanes<T>>(b) : bind_backward<T, G, 1>(b);
  }
  static Launch bind(const Binding& b) {
    return b.dtype(slot::EmbeddingBackward::DWeight) == DType::F32 ? bind_gradient<float>(b)
                                                                   : bind_gradient<bf16>(b);
  }
};

template <class T>
struct Gather {
  static Launch bind(const Binding& b) {
    using S = slot::GatherRow;
    const T* x = b.data<T>(S::X);
    const int* index = b.data<int>(S::Index);
    T* y = b.data<T>(S::Y);
    const int columns = static_cast<int>(b.shape(S::Y)[b.shape(S::Y).rank - 1]);
    const int rows = static_cast<int>(b.rows(S::X));
    const int64_t x_stride = b.row_stride(S::X);
    const unsigned grid = grid_size(b, ceil_div(columns, kThreads));
    return [=](cudaStream_t stream) {
      launch_kernel("gather row", gather_row_kernel<T>, grid, kThreads, 0, stream, x, index, y, columns,
                    x_stride, rows);
    };
  }
};

}  // namespace

Launch bind_embedding(const Binding& binding) {
  return dispatch_float<Forward>(binding, slot::Embedding::Weight);
}

Launch bind_embedding_backward(const Binding& binding) {
  return dispatch_float<Backward>(binding, slot::EmbeddingBackward::Dy);
}

Launch bind_gather_row(const Binding& binding) {
  return dispatch_float<Gather>(binding, slot::GatherRow::X);
}

Launch bind_fill(const Binding& b) {
  const Tensor& out = b.tensor(slot::Fill::Out);
  void* address = b.address(slot::Fill::Out);
  const size_t bytes = static_cast<size_t>(out.bytes());
  if (!out.contiguous())
    throw Error(ErrorCode::Internal, describe(b.op()) + ": tensor " + out.name + " must be contiguous.");
  return [=](cudaStream_t stream) { check(cudaMemsetAsync(address, 0, bytes, stream), "fill"); };
}

}  // namespace lathe::cuda
