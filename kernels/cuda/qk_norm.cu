// RMSNorm over each head of q and k, forward and backward. A group of 16 or 32 lanes owns a head's row, so
// that its sums need no shared memory; formulas as in norm.cu, with columns = head dim.
#include <algorithm>

#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

struct Shapes {
  int64_t rows;
  int heads_q, heads_k, head_dim;
  int64_t q, k;          // row strides of the inputs
  int64_t out_q, out_k;  // of the outputs (forward) or gradients (backward)
};

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 512;  // partial sums in the workspace
constexpr int kColumns = 8;      // a lane's share of a head, as vectors of N

// Sum over the LANES lanes of one head.
template <int LANES>
__device__ inline float lane_sum(float x) {
#pragma unroll
  for (int mask = LANES / 2; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}

// Which head a group works on: rows times (heads_q + heads_k), q's heads first.
struct Place {
  bool valid, is_q;
  int64_t row;
  int head, slot;
};
__device__ inline Place place_of(int64_t item, const Shapes& s) {
  const int heads = s.heads_q + s.heads_k;
  const int64_t row = item / heads;
  const int slot = static_cast<int>(item - row * heads);
  const bool is_q = slot < s.heads_q;
  return {row < s.rows, is_q, row, is_q ? slot : slot - s.heads_q, slot};
}

template <class T, int LANES>
__global__ void qk_norm_kernel(const T* q, const T* k, const float* q_weight, const float* k_weight, T* out_q,
                               T* out_k, float* rstd_out, Shapes s, float eps) {
  await_predecessor();
  const int lane = threadIdx.x % LANES;
  const int64_t item = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / LANES;
  const Place at = place_of(item, s);
  const T* x = at.is_q ? q + at.row * s.q : k + at.row * s.k;
  x += static_cast<int64_t>(at.head) * s.head_dim;
  const float* weight = at.is_q ? q_weight : k_weight;
  float value[kColumns];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int column = i * LANES + lane;
    value[i] = at.valid && column < s.head_dim ? to_float(x[column]) : 0.0f;
    squares += value[i] * value[i];
  }
  const float rstd = 1.0f / sqrtf(lane_sum<LANES>(squares) / static_cast<float>(s.head_dim) + eps);
  if (!at.valid) return;
  T* y = at.is_q ? out_q + at.row * s.out_q : out_k + at.row * s.out_k;
  y += static_cast<int64_t>(at.head) * s.head_dim;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int column = i * LANES + lane;
    if (column < s.head_dim) y[column] = from_float<T>(value[i] * rstd * weight[column]);
  }
  if (rstd_out != nullptr && lane == 0) rstd_out[at.row * (s.heads_q + s.heads_k) + at.slot] = rstd;
}

// partial: [gridDim.x, 2, head_dim]: this block's share of dq_weight and dk_weight.
template <class T, int LANES>
__global__ void qk_norm_backward_kernel(const T* q, const T* k, const float* q_weight, const float* k_weight,
                                        const float* rstd_in, T* dq, T* dk, float* partial, Shapes s,
                                        float eps) {
  await_predecessor();
  extern __shared__ float group_sums[];  // [groups, 2, head_dim]
  const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  constexpr int groups = kThreads / LANES;
  float dw[2][kColumns] = {};
  const int64_t items = s.rows * (s.heads_q + s.heads_k);
  const int64_t rounds =
      (items + static_cast<int64_t>(gridDim.x) * groups - 1) / (static_cast<int64_t>(gridDim.x) * groups);
  for (int64_t round = 0; round < rounds; ++round) {
    const int64_t item = (round * gridDim.x + blockIdx.x) * groups + group;
    const Place at = place_of(item, s);
    const T* x = at.is_q ? q + at.row * s.q : k + at.row * s.k;
    T* d = at.is_q ? dq + at.row * s.out_q : dk + at.row * s.out_k;
    x += static_cast<int64_t>(at.head) * s.head_dim;
    d += static_cast<int64_t>(at.head) * s.head_dim;
    const float* weight = at.is_q ? q_weight : k_weight;
    float value[kColumns], gradient[kColumns];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int column = i * LANES + lane;
      const bool inside = at.valid && column < s.head_dim;
      value[i] = inside ? to_float(x[column]) : 0.0f;
      gradient[i] = inside ? to_float(d[column]) : 0.0f;
      squares += value[i] * value[i];
    }
    float rstd;
    if (rstd_in != nullptr) {
      rstd = at.valid ? rstd_in[at.row * (s.heads_q + s.heads_k) + at.slot] : 0.0f;
    } else {
      rstd = 1.0f / sqrtf(lane_sum<LANES>(squares) / static_cast<float>(s.head_dim) + eps);
    }
    float projection = 0;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int column = i * LANES + lane;
      if (column >= s.head_dim) continue;
      const float x_hat = value[i] * rstd;
      projection += weight[column] * gradient[i] * x_hat;
      dw[at.is_q ? 0 : 1][i] += gradient[i] * x_hat;
    }
    const float mean = lane_sum<LANES>(projection) / static_cast<float>(s.head_dim);
    if (!at.valid) continue;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int column = i * LANES + lane;
      if (column < s.head_dim)
        d[column] = from_float<T>(rstd * (weight[column] * gradient[i] - value[i] * rstd * mean));
    }
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int column = i * LANES + lane;
    if (column >= s.head_dim) continue;
    group_sums[(group * 2 + 0) * s.head_dim + column] = dw[0][i];
    group_sums[(group * 2 + 1) * s.head_dim + column] = dw[1][i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * s.head_dim; i += kThreads) {
    float sum = 0;
    for (int g = 0; g < groups; ++g) sum += group_sums[g * 2 * s.head_dim + i];
    partial[static_cast<int64_t>(blockIdx.x) * 2 * s.head_dim + i] = sum;
  }
}

// One warp a column: the blocks' shares in a fixed order.
__global__ void qk_norm_reduce_kernel(const float* partial, int blocks, int head_dim, float* dq_weight,
                                      bool add_q, float* dk_weight, bool add_k) {
  await_predecessor();
  const int column = blockIdx.x;
  float sum = 0;
  for (int b = threadIdx.x; b < blocks; b += 32)
    sum += partial[static_cast<int64_t>(b) * 2 * head_dim + column];
  sum = warp_sum(sum);
  if (threadIdx.x != 0) return;
  const bool is_q = column < head_dim;
  float* out = is_q ? dq_weight + column : dk_weight + column - head_dim;
  *out = (is_q ? add_q : add_k) ? *out + sum : sum;
}

Shapes shapes_of(const Binding& b, int q, int k, int out_q, int out_k) {
  const Shape& dims = b.shape(q);
  Shapes s{};
  s.rows = b.rows(q, 2);
  s.heads_q = static_cast<int>(dims[dims.rank - 2]);
  s.heads_k = static_cast<int>(b.shape(k)[b.shape(k).rank - 2]);
  s.head_dim = static_cast<int>(dims[dims.rank - 1]);
  s.q = b.row_stride(q, 2);
  s.k = b.row_stride(k, 2);
  s.out_q = b.row_stride(out_q, 2);
  s.out_k = b.row_stride(out_k, 2);
  if (s.head_dim > 32 * kColumns)
    throw Error(ErrorCode::Unsupported,
                describe(b.op()) + ": a head dim of " + std::to_string(s.head_dim) + " is not supported.",
                "Use a head dim of at most 256.");
  return s;
}

template <class T, int LANES>
Launch bind_forward(const Binding& b, const Shapes& s) {
  using S = slot::QkNorm;
  const T *q = b.data<T>(S::Q), *k = b.data<T>(S::K);
  const float *q_weight = b.data<float>(S::QWeight), *k_weight = b.data<float>(S::KWeight);
  T *out_q = b.data<T>(S::YQ), *out_k = b.data<T>(S::YK);
  float* rstd = b.data<float>(S::Rstd);
  const float eps = static_cast<float>(b.attributes().eps);
  const unsigned grid = grid_size(b, ceil_div(s.rows * (s.heads_q + s.heads_k), kThreads / LANES));
  return [=](cudaStream_t stream) {
    launch_kernel("qk norm", qk_norm_kernel<T, LANES>, grid, kThreads, 0, stream, q, k, q_weight, k_weight,
                  out_q, out_k, rstd, s, eps);
  };
}

template <class T, int LANES>
Launch bind_backward(const Binding& b, const Shapes& s) {
  using S = slot::QkNormBackward;
  const T *q = b.data<T>(S::Q), *k = b.data<T>(S::K);
  const float *q_weight = b.data<float>(S::QWeight), *k_weight = b.data<float>(S::KWeight);
  const float* rstd = b.data<float>(S::Rstd);
  T *dq = b.data<T>(S::DYQ), *dk = b.data<T>(S::DYK);
  float *dq_weight = b.data<float>(S::DQWeight), *dk_weight = b.data<float>(S::DKWeight);
  const bool add_q = b.accumulates(S::DQWeight), add_k = b.accumulates(S::DKWeight);
  float* partial = static_cast<float*>(b.workspace());
  const float eps = static_cast<float>(b.attributes().eps);
  constexpr int groups = kThreads / LANES;
  const int64_t items = s.rows * (s.heads_q + s.heads_k);
  const unsigned blocks = grid_size(b, std::min<int64_t>(kMaxBlocks, ceil_div(items, groups)));
  b.need_workspace(static_cast<int64_t>(blocks) * 2 * s.head_dim * 4);
  const size_t shared = static_cast<size_t>(groups) * 2 * static_cast<size_t>(s.head_dim) * 4;
  return [=](cudaStream_t stream) {
    launch_kernel("qk norm backward", qk_norm_backward_kernel<T, LANES>, blocks, kThreads, shared, stream, q,
                  k, q_weight, k_weight, rstd, dq, dk, partial, s, eps);
    launch_kernel("qk norm weight gradient", qk_norm_reduce_kernel, static_cast<unsigned>(2 * s.head_dim), 32,
                  0, stream, partial, static_cast<int>(blocks), s.head_dim, dq_weight, add_q, dk_weight,
                  add_k);
  };
}

template <class T>
struct Forward {
  static Launch bind(const Binding& b) {
    using S = slot::QkNorm;
    const Shapes s = shapes_of(b, S::Q, S::K, S::YQ, S::YK);
    return s.head_dim <= 16 * kColumns ? bind_forward<T, 16>(b, s) : bind_forward<T, 32>(b, s);
  }
};

template <class T>
struct Backward {
  static Launch bind(const Binding& b) {
    using S = slot::QkNormBackward;
    const Shapes s = shapes_of(b, S::Q, S::K, S::DYQ, S::DYK);
    return s.head_dim <= 16 * kColumns ? bind_backward<T, 16>(b, s) : bind_backward<T, 32>(b, s);
  }
};

}  // namespace

Launch bind_qk_norm(const Binding& binding) {
  return dispatch_float<Forward>(binding, slot::QkNorm::Q);
}

Launch bind_qk_norm_backward(const Binding& binding) {
  return dispatch_float<Backward>(binding, slot::QkNormBackward::Q);
}

}  // namespace lathe::cuda
