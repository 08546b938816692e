// What every own kernel shares: vectors of up to 16 bytes an access, conversions through FP32, block sums.
//
// A float tensor is FP32 or BF16; arithmetic is FP32 and a value is rounded once (to nearest even) where it
// is stored. All sums run in an order that depends on shapes only, so that equal inputs give equal bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/api/error.h"
#include "kernels/cuda/binding.h"
#include "kernels/cuda/check.h"

namespace lathe::cuda {

using bf16 = __nv_bfloat16;

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(bf16 x) {
  return __bfloat162float(x);
}
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline bf16 from_float<bf16>(float x) {
  return __float2bfloat16_rn(x);
}

// N neighbouring elements, moved with accesses of up to 16 bytes; the address must be aligned to that.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
  T v[N];
};

template <int N, class T>
__device__ inline Vec<T, N> load_vec(const T* p) {
  return *reinterpret_cast<const Vec<T, N>*>(p);
}
template <int N, class T>
__device__ inline void store_vec(T* p, const Vec<T, N>& x) {
  *reinterpret_cast<Vec<T, N>*>(p) = x;
}

// By value: elements read through a reference into memory would be loaded one by one.
template <class T, int N>
__device__ inline void widen(Vec<T, N> x, float (&out)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) out[i] = to_float(x.v[i]);
}
template <class T, int N>
__device__ inline Vec<T, N> narrow(const float (&x)[N]) {
  Vec<T, N> out;
#pragma unroll
  for (int i = 0; i < N; ++i) out.v[i] = from_float<T>(x[i]);
  return out;
}

template <int N, class T>
__device__ inline void load_wide(const T* p, float (&out)[N]) {
  widen(load_vec<N>(p), out);
}

// Copies a vector into shared memory without waiting, where it has 16 bytes (or 4); else at once. Copies
// since the last copies_commit() are a group; copies_wait<n>() returns when all but this thread's last n
// groups are there, copies_wait_all() when everything is, in a group or not.
template <class T, int N>
__device__ inline void copy_ahead(Vec<T, N>* to, const T* from) {
  if constexpr (sizeof(Vec<T, N>) == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
  } else if constexpr (sizeof(Vec<T, N>) == 4) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
  } else {
    *to = load_vec<N>(from);
  }
}
__device__ inline void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int n>
__device__ inline void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}
__device__ inline void copies_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Elements of T in a 16-byte access.
template <class T>
inline constexpr int kLanes = 16 / static_cast<int>(sizeof(T));

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, mask));
  return x;
}

// Sums K values over the block; every thread gets the sums. blockDim.x is a multiple of 32 (at most 1024).
// `scratch` has K * 32 floats; it may be used again after the next __syncthreads().
template <int K>
__device__ inline void block_sum(float (&x)[K], float* scratch) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
#pragma unroll
  for (int k = 0; k < K; ++k) x[k] = warp_sum(x[k]);
  if (warps == 1) return;
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < K; ++k) scratch[k * 32 + warp] = x[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < K; ++k) x[k] = warp_sum(lane < warps ? scratch[k * 32 + lane] : 0.0f);
}

__device__ inline double block_sum_double(double x, double* scratch) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  x = lane < warps ? scratch[lane] : 0.0;
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}

// exp for values that are rounded to T next: the fast approximation is far below BF16's rounding.
template <class T>
__device__ inline float exp_for(float x) {
  return sizeof(T) == 2 ? __expf(x) : expf(x);
}
template <class T>
__device__ inline float sigmoid_for(float x) {
  return sizeof(T) == 2 ? __fdividef(1.0f, 1.0f + __expf(-x)) : 1.0f / (1.0f + expf(-x));
}

// Programmatic dependent launch (Hopper and newer): a kernel may be started while its predecessor drains.
// Every own kernel calls this first: it lets its successor do the same, then waits until all earlier work is
// done and visible.
__device__ inline void await_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Enqueues a kernel that calls await_predecessor() first. Throws Error when the launch fails; `what` names
// it.
template <class... Parameters, class... Arguments>
void launch_kernel(const char* what, void (*kernel)(Parameters...), dim3 grid, dim3 threads,
                   size_t shared_bytes, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = device_overlaps_launches() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), what);
}

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// A grid dimension; throws Unsupported beyond what a launch can hold.
inline unsigned grid_size(const Binding& binding, int64_t blocks) {
  if (blocks > 0x7fffffff)
    throw Error(ErrorCode::Unsupported,
                describe(binding.op()) + ": the tensors are too large for one launch.",
                "Use a smaller micro-batch or context.");
  return static_cast<unsigned>(blocks);
}

[[noreturn]] inline void unsupported_dtype(const Binding& binding) {
  throw Error(ErrorCode::Unsupported,
              "The CUDA backend has no kernel for " + describe(binding.op()) + " (" +
                  describe_operands(binding.program(), binding.op()) + ").",
              "Use BF16 or FP32 as the compute type.");
}

// bind<T>(binding) for the float type of the operand in `slot`.
template <template <class> class Bind>
Launch dispatch_float(const Binding& binding, int slot) {
  switch (binding.dtype(slot)) {
    case DType::BF16:
      return Bind<bf16>::bind(binding);
    case DType::F32:
      return Bind<float>::bind(binding);
    default:
      unsupported_dtype(binding);
  }
}

}  // namespace lathe::cuda
