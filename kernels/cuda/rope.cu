// Rotary position embedding by split halves, in place on strided views of q and k:
//   (a, b) -> (a·cos − b·sin, b·cos + a·sin) for a = x[i], b = x[i + D/2]; the backward rotates by −angle.
// One thread holds the table entries of its N columns and rotates several heads with them.
#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

struct Shapes {
  int64_t rows, q_stride, k_stride;
  int heads_q, heads_k, head_dim;
  int context;
};

constexpr int kHeadsPerThread = 4;

// Threads: (row, head group, vector of the half), the vector fastest.
template <class T, int N>
__global__ void rope_kernel(T* q, T* k, const float* table, const int* position, Shapes s, float direction) {
  await_predecessor();
  const int half = s.head_dim / 2, vectors = half / N;
  const int groups_q = (s.heads_q + kHeadsPerThread - 1) / kHeadsPerThread;
  const int groups = groups_q + (s.heads_k + kHeadsPerThread - 1) / kHeadsPerThread;
  const int per_row = groups * vectors;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t row = index / per_row;
  if (row >= s.rows) return;
  const int within = static_cast<int>(index - row * per_row);
  const int group = within / vectors, column = (within - group * vectors) * N;
  const bool is_q = group < groups_q;
  const int head = (is_q ? group : group - groups_q) * kHeadsPerThread;
  const int heads = is_q ? s.heads_q : s.heads_k;
  T* base =
      (is_q ? q + row * s.q_stride : k + row * s.k_stride) + static_cast<int64_t>(head) * s.head_dim + column;

  const int64_t place = position != nullptr ? *position + row : row % s.context;
  float cosine[N], sine[N];
  load_wide<N>(table + place * s.head_dim + column, cosine);
  load_wide<N>(table + place * s.head_dim + half + column, sine);
  Vec<T, N> low[kHeadsPerThread], high[kHeadsPerThread];
#pragma unroll
  for (int h = 0; h < kHeadsPerThread; ++h) {
    if (head + h >= heads) continue;
    low[h] = load_vec<N>(base + static_cast<int64_t>(h) * s.head_dim);
    high[h] = load_vec<N>(base + static_cast<int64_t>(h) * s.head_dim + half);
  }
#pragma unroll
  for (int h = 0; h < kHeadsPerThread; ++h) {
    if (head + h >= heads) continue;
    float a[N], b[N], x[N], y[N];
    widen(low[h], a);
    widen(high[h], b);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      x[i] = a[i] * cosine[i] - b[i] * (sine[i] * direction);
      y[i] = b[i] * cosine[i] + a[i] * (sine[i] * direction);
    }
    store_vec(base + static_cast<int64_t>(h) * s.head_dim, narrow<T>(x));
    store_vec(base + static_cast<int64_t>(h) * s.head_dim + half, narrow<T>(y));
  }
}

template <class T, int N>
Launch bind_n(const Binding& b) {
  using S = slot::Rope;
  const Shape& dims = b.shape(S::Q);
  Shapes s{};
  s.rows = b.rows(S::Q, 2);
  s.q_stride = b.row_stride(S::Q, 2);
  s.k_stride = b.row_stride(S::K, 2);
  s.heads_q = static_cast<int>(dims[dims.rank - 2]);
  s.heads_k = static_cast<int>(b.shape(S::K)[b.shape(S::K).rank - 2]);
  s.head_dim = static_cast<int>(dims[dims.rank - 1]);
  s.context = static_cast<int>(b.attributes().context > 0 ? b.attributes().context : b.shape(S::Table)[0]);
  const int64_t groups = ceil_div(s.heads_q, kHeadsPerThread) + ceil_div(s.heads_k, kHeadsPerThread);
  const unsigned grid = grid_size(b, ceil_div(s.rows * groups * (s.head_dim / 2 / N), 256));
  T* q = b.data<T>(S::Q);
  T* k = b.data<T>(S::K);
  const float* table = b.data<float>(S::Table);
  const int* position = b.data<int>(S::Position);
  const float direction = b.op().kind == OpKind::Rope ? 1.0f : -1.0f;
  return [=](cudaStream_t stream) {
    launch_kernel("rope", rope_kernel<T, N>, grid, 256, 0, stream, q, k, table, position, s, direction);
  };
}

template <class T>
struct Bind {
  static Launch bind(const Binding& b) {
    using S = slot::Rope;
    const int64_t head_dim = b.shape(S::Q)[b.shape(S::Q).rank - 1];
    const bool wide = b.vectorised({S::Q, S::K}, 2) && head_dim / 2 % kLanes<T> == 0;
    return wide ? bind_n<T, kLanes<T>>(b) : bind_n<T, 1>(b);
  }
};

}  // namespace

Launch bind_rope(const Binding& binding) {
  return dispatch_float<Bind>(binding, slot::Rope::Q);
}

}  // namespace lathe::cuda
