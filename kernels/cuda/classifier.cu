// Cross entropy over the vocabulary: loss, logsumexp and the logits' gradient in one pass, in place.
//
//   lse = log Σ exp(z),  loss = lse − z[target],  dz = (softmax · (1 + 2·z_loss·lse) − onehot) · inv_valid
//
// A row is read once where shared memory holds it, else twice. Columns from valid_vocab on are padding: they
// take no part and get gradient 0; a negative target makes loss and gradient 0.
#include <algorithm>

#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

constexpr int kThreads = 1024;

struct Call {
  int64_t row_stride;
  int columns, valid;
  float z_loss;
  bool backward;
};

// exp(x − shift). Both are handed over times log2(e) in BF16, where one fused multiply-add and the hardware's
// base-2 exponential are exact enough; FP32 takes the accurate function.
template <class T>
inline constexpr float kUnit = sizeof(T) == 2 ? 1.44269504f : 1.0f;
template <class T>
__device__ inline float exp_shifted(float x, float shift) {
  if constexpr (sizeof(T) == 2) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fmaf(x, kUnit<T>, -shift)));
    return result;
  } else {
    return expf(x - shift);
  }
}

// Running maximum m and sum of exp(x − m).
struct Softmax {
  float max, sum;
};
template <class T>
__device__ inline Softmax merge(Softmax a, Softmax b) {
  const float max = fmaxf(a.max, b.max);
  if (max == -INFINITY) return {max, 0.0f};
  const float shift = max * kUnit<T>;
  return {max, a.sum * exp_shifted<T>(a.max, shift) + b.sum * exp_shifted<T>(b.max, shift)};
}

template <class T>
__device__ inline Softmax block_merge(Softmax x, Softmax* scratch) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    x = merge<T>(x, {__shfl_xor_sync(0xffffffffu, x.max, mask), __shfl_xor_sync(0xffffffffu, x.sum, mask)});
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = x;
  __syncthreads();
  const int lane = threadIdx.x & 31;
  x = lane < static_cast<int>(blockDim.x >> 5) ? scratch[lane] : Softmax{-INFINITY, 0.0f};
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    x = merge<T>(x, {__shfl_xor_sync(0xffffffffu, x.max, mask), __shfl_xor_sync(0xffffffffu, x.sum, mask)});
  return x;
}

// Logits of one vector, padding at minus infinity.
template <class T, int N>
__device__ inline void load_logits(Vec<T, N> in, int column, int valid, float (&x)[N]) {
  widen(in, x);
  if (column + N <= valid) return;
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (column + i >= valid) x[i] = -INFINITY;
}

template <class T, int N>
__device__ inline void add_vector(Vec<T, N> in, int column, int valid, Softmax& total) {
  float x[N];
  load_logits(in, column, valid, x);
  float max = x[0];
#pragma unroll
  for (int i = 1; i < N; ++i) max = fmaxf(max, x[i]);
  if (max > total.max) {
    total.sum *= exp_shifted<T>(total.max, max * kUnit<T>);
    total.max = max;
  }
  if (total.max == -INFINITY) return;
  const float shift = total.max * kUnit<T>;
#pragma unroll
  for (int i = 0; i < N; ++i) total.sum += exp_shifted<T>(x[i], shift);
}

// What the gradient needs beside the logits.
struct Outcome {
  float lse, shift, softmax_scale, inv_valid;  // shift: lse in exp_shifted's unit
};
template <class T>
__device__ inline Outcome outcome_of(Softmax total, const float* scalars, float z_loss) {
  const float lse = total.max + logf(total.sum);
  const float inv_valid = scalars[static_cast<int>(StepScalar::InvValidTokens)];
  return {lse, lse * kUnit<T>, inv_valid * (1.0f + 2.0f * z_loss * lse), inv_valid};
}

template <class T, int N>
__device__ inline Vec<T, N> gradient_vector(Vec<T, N> in, int column, int valid, int target,
                                            const Outcome& o) {
  float x[N];
  load_logits(in, column, valid, x);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = exp_shifted<T>(x[i], o.shift) * o.softmax_scale;
  if (static_cast<unsigned>(target - column) < static_cast<unsigned>(N)) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (column + i == target) x[i] -= o.inv_valid;
  }
  return narrow<T>(x);
}

template <class T, int N>
__device__ inline void clear_vectors(T* z, int vectors) {
  const float zeros[N] = {};
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += static_cast<int>(blockDim.x))
    store_vec(z + static_cast<int64_t>(i) * N, narrow<T>(zeros));
}

// The target's logit is read before the row is overwritten.
__device__ inline void write_losses(const Outcome& o, float target_logit, float* losses, float* z_losses,
                                    int64_t row, float z_loss) {
  losses[row] = o.lse - target_logit;
  if (z_losses != nullptr) z_losses[row] = z_loss * o.lse * o.lse;
}
__device__ inline void uncounted_row(float* losses, float* z_losses, int64_t row) {
  losses[row] = 0.0f;
  if (z_losses != nullptr) z_losses[row] = 0.0f;
}

// One block a row, which it reads twice: for rows that no shared memory holds, and those that are not
// aligned.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    classifier_kernel(T* logits, const int* targets, const float* scalars, float* losses, float* z_losses,
                      Call c) {
  await_predecessor();
  __shared__ Softmax scratch[32];
  const int64_t row = blockIdx.x;
  T* z = logits + row * c.row_stride;
  const int target = targets[row], vectors = c.columns / N;
  const bool writes = threadIdx.x == 0;
  if (target < 0) {
    if (writes) uncounted_row(losses, z_losses, row);
    if (c.backward) clear_vectors<T, N>(z, vectors);
    return;
  }
  Softmax total{-INFINITY, 0.0f};
#pragma unroll 4
  for (int i = threadIdx.x; i < vectors; i += kThreads)
    add_vector(load_vec<N>(z + static_cast<int64_t>(i) * N), i * N, c.valid, total);
  const float target_logit = writes ? to_float(z[target]) : 0.0f;
  total = block_merge<T>(total, scratch);
  const Outcome o = outcome_of<T>(total, scalars, c.z_loss);
  if (writes) write_losses(o, target_logit, losses, z_losses, row, c.z_loss);
  if (!c.backward) return;
  const int rounds = (vectors + kThreads - 1) / kThreads;
#pragma unroll 4
  for (int i = (rounds - 1) * kThreads + static_cast<int>(threadIdx.x); i >= 0; i -= kThreads) {
    if (i >= vectors) continue;
    T* p = z + static_cast<int64_t>(i) * N;
    store_vec(p, gradient_vector<T, N>(load_vec<N>(p), i * N, c.valid, target, o));
  }
}

constexpr int kStagedThreads = 512;

// Every block walks rows; each thread copies and reads only its own vectors of the row in shared memory: a
// row is read once, the next one while this one is written.
template <class T, int N>
__global__ void __launch_bounds__(kStagedThreads, 3)
    classifier_staged_kernel(T* logits, const int* targets, const float* scalars, float* losses,
                             float* z_losses, Call c, int64_t rows) {
  static_assert(sizeof(Vec<T, N>) == 16);
  await_predecessor();
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Softmax scratch[2][32];  // alternates, so that one barrier a row is enough
  Vec<T, N>* const held = reinterpret_cast<Vec<T, N>*>(shared);
  const int vectors = c.columns / N, mine = static_cast<int>(threadIdx.x);
  const bool writes = threadIdx.x == 0;
  const auto fetch = [&](int i, int64_t row) {
    if (row < rows) copy_ahead(held + i, logits + row * c.row_stride + static_cast<int64_t>(i) * N);
  };
  int turn = 0;
  for (int i = mine; i < vectors; i += kStagedThreads) fetch(i, blockIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t next = row + gridDim.x;
    T* z = logits + row * c.row_stride;
    const int target = targets[row];
    copies_wait_all();
    if (target < 0) {
      if (writes) uncounted_row(losses, z_losses, row);
      if (c.backward) clear_vectors<T, N>(z, vectors);
      for (int i = mine; i < vectors; i += kStagedThreads) fetch(i, next);
      continue;
    }
    const float target_logit = writes ? to_float(z[target]) : 0.0f;
    Softmax total{-INFINITY, 0.0f};
    for (int i = mine; i < vectors; i += kStagedThreads) add_vector(held[i], i * N, c.valid, total);
    total = block_merge<T>(total, scratch[turn]);
    turn ^= 1;
    const Outcome o = outcome_of<T>(total, scalars, c.z_loss);
    if (writes) write_losses(o, target_logit, losses, z_losses, row, c.z_loss);
    for (int i = mine; i < vectors; i += kStagedThreads) {
      const Vec<T, N> in = held[i];
      fetch(i, next);
      if (c.backward)
        store_vec(z + static_cast<int64_t>(i) * N, gradient_vector<T, N>(in, i * N, c.valid, target, o));
    }
  }
}

// sums[0] (+)= Σ losses, sums[1] (+)= Σ z-losses, in FP64 and a fixed order.
__global__ void loss_sum_kernel(const float* losses, const float* z_losses, int64_t rows, float* sums,
                                bool accumulate) {
  await_predecessor();
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
  const int64_t rows = b.rows(S::Logits);
  if constexpr (N > 1) {
    const int row_bytes = call.columns * static_cast<int>(sizeof(T));
    if (row_bytes + 1024 <= device_block_shared_bytes()) {
      const auto kernel = classifier_staged_kernel<T, N>;
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, row_bytes),
            "reserving shared memory for the classifier");
      int each = 0;
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kStagedThreads,
                                                          static_cast<size_t>(row_bytes)),
            "reading the classifier's occupancy");
      const unsigned resident =
          grid_size(b, std::min<int64_t>(rows, static_cast<int64_t>(each) * b.multiprocessors()));
      return [=](cudaStream_t stream) {
        launch_kernel("classifier loss", kernel, resident, kStagedThreads, static_cast<size_t>(row_bytes),
                      stream, logits, targets, scalars, losses, z_losses, call, rows);
      };
    }
  }
  const unsigned grid = grid_size(b, rows);
  return [=](cudaStream_t stream) {
    launch_kernel("classifier loss", classifier_kernel<T, N>, grid, kThreads, 0, stream, logits, targets,
                  scalars, losses, z_losses, call);
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
  };
}

}  // namespace lathe::cuda
