// FP64 causal grouped-query attention on the device, straight from the formulas: what attention_check
// compares with. Inputs and results are contiguous doubles: q, o, dO, dq [B,T,H,D]; k, v, dk, dv [B,T,K,D];
// lse [B,H,T].
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace reference {

struct Problem {
  int batch, context, heads, kv_heads, head_dim;
  double scale;
  const int32_t* document_start;  // or null
  const double *q, *k, *v, *d_o;
  double *o, *lse, *delta, *dq, *dk, *dv;

  __device__ int64_t query(int b, int t, int h) const {
    return ((static_cast<int64_t>(b) * context + t) * heads + h) * head_dim;
  }
  __device__ int64_t key(int b, int t, int h) const {
    return ((static_cast<int64_t>(b) * context + t) * kv_heads + h) * head_dim;
  }
  __device__ int first_key(int b, int t) const {
    return document_start == nullptr ? 0
                                     : max(0, min(t, document_start[static_cast<int64_t>(b) * context + t]));
  }
};

inline __device__ double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

inline constexpr int kThreads = 128;

inline __device__ double block_sum(double value, double* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (static_cast<int>(threadIdx.x) < step) scratch[threadIdx.x] += scratch[threadIdx.x + step];
    __syncthreads();
  }
  const double sum = scratch[0];
  __syncthreads();
  return sum;
}

// Grid (T, H, B): o, lse, delta and dq of one query. Shared: context doubles of probabilities.
__global__ void query_kernel(Problem p) {
  extern __shared__ double weights[];
  __shared__ double scratch[kThreads];
  const int t = static_cast<int>(blockIdx.x), h = static_cast<int>(blockIdx.y),
            b = static_cast<int>(blockIdx.z);
  const int kv_head = h / (p.heads / p.kv_heads);
  const int first = p.first_key(b, t);
  const int thread = static_cast<int>(threadIdx.x);
  double sum = 0;
  for (int key = first + thread; key <= t;
       key += kThreads) {  // scores are small: no maximum is needed in FP64
    weights[key] = exp(p.scale * dot(p.q + p.query(b, t, h), p.k + p.key(b, key, kv_head), p.head_dim));
    sum += weights[key];
  }
  sum = block_sum(sum, scratch);
  const int64_t row = (static_cast<int64_t>(b) * p.heads + h) * p.context + t;
  double delta = 0;
  for (int d = thread; d < p.head_dim; d += kThreads) {
    double value = 0;
    for (int key = first; key <= t; ++key) value += weights[key] / sum * p.v[p.key(b, key, kv_head) + d];
    p.o[p.query(b, t, h) + d] = value;
    delta += value * p.d_o[p.query(b, t, h) + d];
  }
  delta = block_sum(delta, scratch);
  if (thread == 0) {
    p.lse[row] = log(sum);
    p.delta[row] = delta;
  }
  for (int key = first + thread; key <= t; key += kThreads) {
    const double dp = dot(p.d_o + p.query(b, t, h), p.v + p.key(b, key, kv_head), p.head_dim);
    weights[key] = weights[key] / sum * (dp - delta);
  }
  __syncthreads();
  for (int d = thread; d < p.head_dim; d += kThreads) {
    double value = 0;
    for (int key = first; key <= t; ++key) value += weights[key] * p.k[p.key(b, key, kv_head) + d];
    p.dq[p.query(b, t, h) + d] = value * p.scale;
  }
}

// Grid (T, K, B): dk and dv of one key. Shared: 2 · context doubles, probabilities and their gradients.
__global__ void key_kernel(Problem p) {
  extern __shared__ double weights[];
  double* const gradients = weights + p.context;
  const int key = static_cast<int>(blockIdx.x), kv_head = static_cast<int>(blockIdx.y);
  const int b = static_cast<int>(blockIdx.z), thread = static_cast<int>(threadIdx.x);
  const int group = p.heads / p.kv_heads;
  double dk[2] = {0, 0}, dv[2] = {0, 0};  // head dims thread and thread + 128
  for (int h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (int t = key + thread; t < p.context; t += kThreads) {
      const int64_t row = (static_cast<int64_t>(b) * p.heads + h) * p.context + t;
      const double score = p.scale * dot(p.q + p.query(b, t, h), p.k + p.key(b, key, kv_head), p.head_dim);
      weights[t] = p.first_key(b, t) <= key ? exp(score - p.lse[row]) : 0;
      const double dp = dot(p.d_o + p.query(b, t, h), p.v + p.key(b, key, kv_head), p.head_dim);
      gradients[t] = weights[t] * (dp - p.delta[row]);
    }
    __syncthreads();
    for (int i = 0; i < 2; ++i) {
      const int d = thread + i * kThreads;
      if (d >= p.head_dim) continue;
      for (int t = key; t < p.context; ++t) {
        dv[i] += weights[t] * p.d_o[p.query(b, t, h) + d];
        dk[i] += gradients[t] * p.q[p.query(b, t, h) + d];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    const int d = thread + i * kThreads;
    if (d >= p.head_dim) continue;
    p.dv[p.key(b, key, kv_head) + d] = dv[i];
    p.dk[p.key(b, key, kv_head) + d] = dk[i] * p.scale;
  }
}

// Returns CUDA's status of both launches; `p` in device memory throughout.
inline cudaError_t run(const Problem& p) {
  const int bytes = p.context * 8;
  cudaFuncSetAttribute(query_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute(key_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * bytes);
  const auto size = [](int n) { return static_cast<unsigned>(n); };
  query_kernel<<<dim3(size(p.context), size(p.heads), size(p.batch)), kThreads, size(bytes)>>>(p);
  key_kernel<<<dim3(size(p.context), size(p.kv_heads), size(p.batch)), kThreads, size(2 * bytes)>>>(p);
  const cudaError_t launched = cudaGetLastError();
  return launched == cudaSuccess ? cudaDeviceSynchronize() : launched;
}

}  // namespace reference
