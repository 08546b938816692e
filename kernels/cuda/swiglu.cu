// SwiGLU, y = silu(gate) · up, and its backward in place over [gate | up]:
//   s = sigmoid(g);  dgate = dy · up · s · (1 + g · (1 − s));  dup = dy · g · s.
#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

struct Shapes {
  int64_t vectors;  // rows * columns / N
  int per_row;      // columns / N
  int64_t gate_up, y, dy;
};

// The forward's y; the backward emits it again with these very operations.
template <class T>
__device__ inline float gated(float gate, float up, float sigmoid) {
  return gate * sigmoid * up;
}

// Vectors a thread: U accesses of each operand in flight.
constexpr int kUnroll = 2;
constexpr int kThreads = 256;

template <class T, int N>
__global__ void swiglu_kernel(const T* gate_up, T* y, Shapes s) {
  await_predecessor();
  const int64_t start = static_cast<int64_t>(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
  Vec<T, N> gate[kUnroll], up[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t index = start + u * kThreads;
    if (index >= s.vectors) continue;
    const unsigned row = static_cast<unsigned>(index / s.per_row);
    const int column = static_cast<int>(index - static_cast<int64_t>(row) * s.per_row) * N;
    const T* p = gate_up + row * s.gate_up + column;
    gate[u] = load_vec<N>(p);
    up[u] = load_vec<N>(p + static_cast<int64_t>(s.per_row) * N);
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t index = start + u * kThreads;
    if (index >= s.vectors) continue;
    const unsigned row = static_cast<unsigned>(index / s.per_row);
    const int column = static_cast<int>(index - static_cast<int64_t>(row) * s.per_row) * N;
    float g[N], v[N], out[N];
    widen(gate[u], g);
    widen(up[u], v);
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = gated<T>(g[i], v[i], sigmoid_for<T>(g[i]));
    store_vec(y + row * s.y + column, narrow<T>(out));
  }
}

template <class T, int N>
__global__ void swiglu_backward_kernel(T* gate_up, const T* dy, T* y, Shapes s) {
  await_predecessor();
  const int64_t start = static_cast<int64_t>(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
  Vec<T, N> gate[kUnroll], up[kUnroll], gradient[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t index = start + u * kThreads;
    if (index >= s.vectors) continue;
    const unsigned row = static_cast<unsigned>(index / s.per_row);
    const int column = static_cast<int>(index - static_cast<int64_t>(row) * s.per_row) * N;
    const T* p = gate_up + row * s.gate_up + column;
    gate[u] = load_vec<N>(p);
    up[u] = load_vec<N>(p + static_cast<int64_t>(s.per_row) * N);
    gradient[u] = load_vec<N>(dy + row * s.dy + column);
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t index = start + u * kThreads;
    if (index >= s.vectors) continue;
    const unsigned row = static_cast<unsigned>(index / s.per_row);
    const int column = static_cast<int>(index - static_cast<int64_t>(row) * s.per_row) * N;
    T* p = gate_up + row * s.gate_up + column;
    float g[N], v[N], d[N], out[N];
    widen(gate[u], g);
    widen(up[u], v);
    widen(gradient[u], d);
    float d_gate[N], d_up[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float sigmoid = sigmoid_for<T>(g[i]);
      out[i] = gated<T>(g[i], v[i], sigmoid);
      d_gate[i] = d[i] * v[i] * sigmoid * (1.0f + g[i] * (1.0f - sigmoid));
      d_up[i] = d[i] * g[i] * sigmoid;
    }
    store_vec(p, narrow<T>(d_gate));
    store_vec(p + static_cast<int64_t>(s.per_row) * N, narrow<T>(d_up));
    if (y != nullptr) store_vec(y + row * s.y + column, narrow<T>(out));
  }
}

template <int N>
Shapes shapes_of(const Binding& b, int gate_up, int y, int dy) {
  const Shape& dims = b.shape(gate_up);
  const int64_t columns = dims[dims.rank - 1] / 2;
  Shapes s{};
  s.per_row = static_cast<int>(columns / N);
  s.vectors = b.rows(gate_up) * s.per_row;
  s.gate_up = b.row_stride(gate_up);
  s.y = b.has(y) ? b.row_stride(y) : 0;
  s.dy = dy >= 0 ? b.row_stride(dy) : 0;
  return s;
}

// gate and up must both be aligned: F, half the row, counts.
template <class T>
bool wide_enough(const Binding& b, int gate_up) {
  return b.shape(gate_up)[b.shape(gate_up).rank - 1] / 2 % kLanes<T> == 0;
}

template <class T, int N>
Launch bind_forward(const Binding& b) {
  using S = slot::SwiGlu;
  const Shapes s = shapes_of<N>(b, S::GateUp, S::Y, -1);
  const T* gate_up = b.data<T>(S::GateUp);
  T* y = b.data<T>(S::Y);
  const unsigned grid = grid_size(b, ceil_div(s.vectors, kThreads * kUnroll));
  return [=](cudaStream_t stream) {
    launch_kernel("swiglu", swiglu_kernel<T, N>, grid, kThreads, 0, stream, gate_up, y, s);
  };
}

template <class T, int N>
Launch bind_backward(const Binding& b) {
  using S = slot::SwiGluBackward;
  const Shapes s = shapes_of<N>(b, S::GateUp, S::Y, S::Dy);
  T* gate_up = b.data<T>(S::GateUp);
  const T* dy = b.data<T>(S::Dy);
  T* y = b.data<T>(S::Y);
  const unsigned grid = grid_size(b, ceil_div(s.vectors, kThreads * kUnroll));
  return [=](cudaStream_t stream) {
    launch_kernel("swiglu backward", swiglu_backward_kernel<T, N>, grid, kThreads, 0, stream, gate_up, dy, y,
                  s);
  };
}

template <class T>
struct Forward {
  static Launch bind(const Binding& b) {
    using S = slot::SwiGlu;
    return b.vectorised({S::GateUp, S::Y}) && wide_enough<T>(b, S::GateUp) ? bind_forward<T, kLanes<T>>(b)
                                                                           : bind_forward<T, 1>(b);
  }
};

template <class T>
struct Backward {
  static Launch bind(const Binding& b) {
    using S = slot::SwiGluBackward;
    return b.vectorised({S::GateUp, S::Dy, S::Y}) && wide_enough<T>(b, S::GateUp)
               ? bind_backward<T, kLanes<T>>(b)
               : bind_backward<T, 1>(b);
  }
};

}  // namespace

Launch bind_swiglu(const Binding& binding) {
  return dispatch_float<Forward>(binding, slot::SwiGlu::GateUp);
}

Launch bind_swiglu_backward(const Binding& binding) {
  return dispatch_float<Backward>(binding, slot::SwiGluBackward::GateUp);
}

}  // namespace lathe::cuda
