// Cross entropy over the vocabulary: loss, logsumexp and the logits' gradient in one pass, in place.
//
//   lse = log Σ exp(z),  loss = lse − z[target],  dz = (softmax · (1 + 2·z_loss·lse) − onehot) · inv_valid
//
// Rows that fit into a block's registers are read once. Longer ones are read again for the gradient, from L2,
// where they still lie. Columns from valid_vocab on are padding: they take no part and get gradient 0; a
// negative target makes loss and gradient 0.
#include <algorithm>

#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

constexpr int kThreads = 1024;
constexpr int kHeld = 4;  // vectors a thread holds: 32768 columns in BF16, 16384 in FP32

struct Call {
  int64_t row_stride;
  int columns, valid;
  float z_loss;
  bool backward;
};

// Running maximum m and sum of exp(x − m).
struct Softmax {
  float max, sum;
};
template <class T>
__device__ inline Softmax merge(Softmax a, Softmax b) {
  const float max = fmaxf(a.max, b.max);
  if (max == -INFINITY) return {max, 0.0f};
  return {max, a.sum * exp_for<T>(a.max - max) + b.sum * exp_for<T>(b.max - max)};
}

template <class T>
__device__ inline Softmax block_merge(Softmax x, Softmax* scratch) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    x = merge<T>(x, {__shfl_xor_sync(0xffffffffu, x.max, mask), __shfl_xor_sync(0xffffffffu, x.sum, mask)});
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = x;
  __syncthreads();
  x = scratch[threadIdx.x & 31];
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    x = merge<T>(x, {__shfl_xor_sync(0xffffffffu, x.max, mask), __shfl_xor_sync(0xffffffffu, x.sum, mask)});
  return x;
}

template <class T, int N>
__device__ inline void add_vector(const Vec<T, N>& in, int column, int valid, Softmax& total) {
  float x[N];
  widen(in, x);
  float max = -INFINITY;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (column + i >= valid) x[i] = -INFINITY;
    max = fmaxf(max, x[i]);
  }
  if (max > total.max) {
    total.sum *= exp_for<T>(total.max - max);
    total.max = max;
  }
  if (total.max == -INFINITY) return;
#pragma unroll
  for (int i = 0; i < N; ++i) total.sum += exp_for<T>(x[i] - total.max);
}

template <class T, int N>
__device__ inline Vec<T, N> gradient_vector(const Vec<T, N>& in, int column, int valid, int target, float lse,
                                            float softmax_scale, float inv_valid) {
  float x[N];
  widen(in, x);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float softmax = column + i < valid ? exp_for<T>(x[i] - lse) : 0.0f;
    x[i] = softmax * softmax_scale - (column + i == target ? inv_valid : 0.0f);
  }
  return narrow<T>(x);
}

template <class T, int N, bool HELD>
__global__ void __launch_bounds__(kThreads, HELD ? 2 : 1)
    classifier_kernel(T* logits, const int* targets, const float* scalars, float* losses, float* z_losses,
                      Call c) {
  __shared__ Softmax scratch[32];
  const int64_t row = blockIdx.x;
  T* z = logits + row * c.row_stride;
  const int target = targets[row];
  const int vectors = c.columns / N;
  if (target < 0) {
    if (threadIdx.x == 0) {
      losses[row] = 0.0f;
      if (z_losses != nullptr) z_losses[row] = 0.0f;
    }
    if (c.backward) {
      const float zeros[N] = {};
      for (int i = threadIdx.x; i < vectors; i += kThreads)
        store_vec(z + static_cast<int64_t>(i) * N, narrow<T>(zeros));
    }
    return;
  }
  Vec<T, N> held[HELD ? kHeld : 1];
  Softmax total{-INFINITY, 0.0f};
  if constexpr (HELD) {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int i = h * kThreads + threadIdx.x;
      if (i < vectors) held[h] = load_vec<N>(z + static_cast<int64_t>(i) * N);
    }
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int i = h * kThreads + threadIdx.x;
      if (i < vectors) add_vector(held[h], i * N, c.valid, total);
    }
  } else {
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += kThreads)
      add_vector(load_vec<N>(z + static_cast<int64_t>(i) * N), i * N, c.valid, total);
  }
  const float target_logit = threadIdx.x == 0 ? to_float(z[target]) : 0.0f;  // before the row is overwritten
  total = block_merge<T>(total, scratch);
  const float lse = total.max + logf(total.sum);
  if (threadIdx.x == 0) {
    losses[row] = lse - target_logit;
    if (z_losses != nullptr) z_losses[row] = c.z_loss * lse * lse;
  }
  if (!c.backward) return;
  const float inv_valid = scalars[static_cast<int>(StepScalar::InvValidTokens)];
  const float softmax_scale = inv_valid * (1.0f + 2.0f * c.z_loss * lse);
  if constexpr (HELD) {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int i = h * kThreads + threadIdx.x;
      if (i < vectors)
        store_vec(z + static_cast<int64_t>(i) * N,
                  gradient_vector(held[h], i * N, c.valid, target, lse, softmax_scale, inv_valid));
    }
  } else {
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += kThreads) {
      T* p = z + static_cast<int64_t>(i) * N;
      store_vec(p, gradient_vector(load_vec<N>(p), i * N, c.valid, target, lse, softmax_scale, inv_valid));
    }
  }
}

// sums[0] (+)= Σ losses, sums[1] (+)= Σ z-losses, in FP64 and a fixed order.
__global__ void loss_sum_kernel(const float* losses, const float* z_losses, int64_t rows, float* sums,
                                bool accumulate) {
  __shared__ double scratch[2][32];
  double loss = 0, z_loss = 0;
  for (int64_t i = threadIdx.x; i < rows; i += blockDim.x) {
    loss += losses[i];
    if (z_losses != nullptr) z_loss += z_losses[i];
  }
  loss = block_sum_double(loss, scratch[0]);
  z_loss = block_sum_double(z_loss, scratch[1]);
  if (threadIdx.x != 0) return;
  sums[0] = static_cast<float>(accumulate ? sums[0] + loss : loss);
  sums[1] = static_cast<float>(accumulate ? sums[1] + z_loss : z_loss);
}

template <class T, int N>
Launch bind_n(const Binding& b) {
  using S = slot::ClassifierLoss;
  Call call{};
  call.columns = static_cast<int>(b.shape(S::Logits)[b.shape(S::Logits).rank - 1]);
  const int64_t valid = b.attributes().valid_vocab;
  call.valid = valid > 0 ? static_cast<int>(std::min<int64_t>(valid, call.columns)) : call.columns;
  call.row_stride = b.row_stride(S::Logits);
  call.z_loss = static_cast<float>(b.attributes().z_loss);
  call.backward = b.op().access(S::Logits) == Access::InPlace;
  T* logits = b.data<T>(S::Logits);
  const int* targets = b.data<int>(S::Targets);
  const float* scalars = b.data<float>(S::Scalars);
  float *losses = b.data<float>(S::Losses), *z_losses = b.data<float>(S::ZLosses);
  const unsigned grid = grid_size(b, b.rows(S::Logits));
  const bool held = ceil_div(call.columns / N, kThreads) <= kHeld;
  return [=](cudaStream_t stream) {
    if (held) {
      classifier_kernel<T, N, true>
          <<<grid, kThreads, 0, stream>>>(logits, targets, scalars, losses, z_losses, call);
    } else {
      classifier_kernel<T, N, false>
          <<<grid, kThreads, 0, stream>>>(logits, targets, scalars, losses, z_losses, call);
    }
    check_launch("classifier loss");
  };
}

template <class T>
struct Bind {
  static Launch bind(const Binding& b) {
    return b.vectorised({slot::ClassifierLoss::Logits}) ? bind_n<T, kLanes<T>>(b) : bind_n<T, 1>(b);
  }
};

}  // namespace

Launch bind_classifier_loss(const Binding& binding) {
  return dispatch_float<Bind>(binding, slot::ClassifierLoss::Logits);
}

Launch bind_loss_sum(const Binding& b) {
  using S = slot::LossSum;
  const float *losses = b.data<float>(S::Losses), *z_losses = b.data<float>(S::ZLosses);
  float* sums = b.data<float>(S::Sums);
  const int64_t rows = b.tensor(S::Losses).elements();
  const bool accumulate = b.accumulates(S::Sums);
  return [=](cudaStream_t stream) {
    loss_sum_kernel<<<1, 1024, 0, stream>>>(losses, z_losses, rows, sums, accumulate);
    check_launch("loss sum");
  };
}

}  // namespace lathe::cuda
