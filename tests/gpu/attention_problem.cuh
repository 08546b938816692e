// What attention_check works on: device arrays, random inputs, and one attention problem in poisoned buffers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/api/error.h"
#include "kernels/cuda/attention_own.h"

namespace lathe::attention_test {

inline void must(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorCode::Backend, std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    must(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
  }
  DeviceArray(DeviceArray&& other) noexcept : data_(other.data_), count_(other.count_) {
    other.data_ = nullptr;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* data() const { return data_; }
  size_t size() const { return count_; }
  void fill_bytes(int byte) { must(cudaMemset(data_, byte, count_ * sizeof(T)), "cudaMemset"); }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    must(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

inline __device__ uint32_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((x ^ (x >> 31)) >> 32);
}
inline __device__ float normal(uint64_t seed, int64_t index) {
  const float u = (mix(seed * 0x51ed27f4a7ull + 2 * static_cast<uint64_t>(index)) + 1.f) * 2.3283064e-10f;
  const float angle = mix(seed * 0x51ed27f4a7ull + 2 * static_cast<uint64_t>(index) + 1) * 1.4629181e-9f;
  return sqrtf(-2.f * logf(fminf(u, 1.f))) * cosf(angle);
}
inline __device__ void store(float* at, float value) {
  *at = value;
}
inline __device__ void store(__nv_bfloat16* at, float value) {
  *at = __float2bfloat16(value);
}
inline __device__ double load(const float* at) {
  return *at;
}
inline __device__ double load(const __nv_bfloat16* at) {
  return __bfloat162float(*at);
}

// Random values into a view, and the same values, as rounded, into contiguous doubles (where asked for).
template <class T>
__global__ void draw(T* view, int64_t row_stride, double* exact, int64_t rows, int columns, uint64_t seed) {
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < rows * columns; i += gridDim.x * 256ll) {
    T* at = view + i / columns * row_stride + i % columns;
    store(at, normal(seed, i));
    if (exact != nullptr) exact[i] = load(at);
  }
}

// Buffers of one problem: qkv and dqkv rows [q | k | v | gap], gaps and margins poisoned with NaN bytes.
template <class T>
struct Problem {
  static constexpr int64_t kGap = 16, kMargin = 256;
  AttentionShape s;
  int64_t rows, q_columns, kv_columns, stride;
  DeviceArray<T> qkv, dqkv, o, d_o;
  DeviceArray<float> lse;
  DeviceArray<int32_t> starts;
  DeviceArray<unsigned char> workspace;
  size_t workspace_bytes;
  bool documents;

  Problem(const AttentionShape& shape, DType dtype, bool with_documents)
      : s(shape),
        rows(s.batch * s.context),
        q_columns(s.heads * s.head_dim),
        kv_columns(s.kv_heads * s.head_dim),
        stride(q_columns + 2 * kv_columns + kGap),
        qkv(static_cast<size_t>(rows * stride + 2 * kMargin)),
        dqkv(qkv.size()),
        o(static_cast<size_t>(rows * q_columns + 2 * kMargin)),
        d_o(o.size()),
        lse(static_cast<size_t>(s.batch * s.heads * s.context + 2 * kMargin)),
        starts(static_cast<size_t>(rows)),
        workspace(attention_workspace_bytes(shape, dtype) + 4096),
        workspace_bytes(workspace.size() - 4096),
        documents(with_documents) {
    qkv.fill_bytes(0xff);
    d_o.fill_bytes(0xff);
    // Documents of 1, 2, 4, ... rows and then of about a third of the context; a lone invalid start, too
    // late.
    std::vector<int32_t> host(static_cast<size_t>(rows));
    for (int64_t b = 0; b < s.batch; ++b) {
      int64_t start = 0, length = 1 + b;
      for (int64_t t = 0; t < s.context; ++t) {
        if (t == start + length) {
          start = t;
          length = std::min<int64_t>(2 * length, s.context / 3 + 1);
        }
        host[static_cast<size_t>(b * s.context + t)] = static_cast<int32_t>(start);
      }
      host[static_cast<size_t>(b * s.context + s.context / 2)] = static_cast<int32_t>(s.context + 5);
    }
    must(cudaMemcpy(starts.data(), host.data(), host.size() * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  void draw_inputs(uint64_t seed, double* q, double* k, double* v, double* grad) {
    T* at = qkv.data() + kMargin;
    draw<<<1024, 256>>>(at, stride, q, rows, static_cast<int>(q_columns), seed);
    draw<<<1024, 256>>>(at + q_columns, stride, k, rows, static_cast<int>(kv_columns), seed + 1);
    draw<<<1024, 256>>>(at + q_columns + kv_columns, stride, v, rows, static_cast<int>(kv_columns), seed + 2);
    draw<<<1024, 256>>>(d_o.data() + kMargin, q_columns, grad, rows, static_cast<int>(q_columns), seed + 3);
    must(cudaGetLastError(), "draw");
  }
  void poison(int byte) {
    dqkv.fill_bytes(byte);
    o.fill_bytes(byte);
    lse.fill_bytes(byte);
    workspace.fill_bytes(byte);
  }

  AttentionForwardCall forward_call(DType dtype) {
    AttentionForwardCall c;
    c.shape = s;
    c.dtype = dtype;
    c.scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
    T* at = qkv.data() + kMargin;
    c.q = {at, stride};
    c.k = {at + q_columns, stride};
    c.v = {at + q_columns + kv_columns, stride};
    c.document_start = documents ? starts.data() : nullptr;
    c.o = o.data() + kMargin;
    c.lse = lse.data() + kMargin;
    return c;
  }
  AttentionBackwardCall backward_call(DType dtype) {
    const AttentionForwardCall f = forward_call(dtype);
    AttentionBackwardCall c;
    c.shape = f.shape;
    c.dtype = f.dtype;
    c.scale = f.scale;
    c.q = f.q;
    c.k = f.k;
    c.v = f.v;
    c.document_start = f.document_start;
    c.o = f.o;
    c.lse = f.lse;
    c.d_o = d_o.data() + kMargin;
    T* at = dqkv.data() + kMargin;
    c.dq = {at, stride};
    c.dk = {at + q_columns, stride};
    c.dv = {at + q_columns + kv_columns, stride};
    c.workspace = workspace.data();
    return c;
  }
};

}  // namespace lathe::attention_test
