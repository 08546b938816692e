// Generation: keys and values into the cache, and one query row against it.
#include <algorithm>

#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void kv_store_kernel(const T* k, const T* v, const int* position, T* cache_k, T* cache_v, int rows,
                                int width, int64_t k_stride, int64_t v_stride, int cache_rows) {
  await_predecessor();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int row = static_cast<int>(index / width), column = static_cast<int>(index % width);
  const int target = *position + row;
  if (row >= rows || target < 0 || target >= cache_rows) return;
  cache_k[static_cast<int64_t>(target) * width + column] = k[row * k_stride + column];
  cache_v[static_cast<int64_t>(target) * width + column] = v[row * v_stride + column];
}

// Block = one query head. Each warp takes every eighth key with an online softmax over its lanes' share of
// the head dim; the warps' results are merged in order.
template <class T>
__global__ void attention_decode_kernel(const T* q, const T* cache_k, const T* cache_v, const int* position,
                                        T* o, int group, int kv_heads, int head_dim, int cache_rows,
                                        float scale) {
  await_predecessor();
  constexpr int kColumns = 8;  // of each lane: head dims up to 256
  constexpr int kWarps = kThreads / 32;
  __shared__ float maxima[kWarps], sums[kWarps];
  extern __shared__ float outputs[];  // [warps, head_dim]
  const int head = blockIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int64_t width = static_cast<int64_t>(kv_heads) * head_dim;
  const int64_t base = static_cast<int64_t>(head / group) * head_dim;
  const int keys = min(max(*position, 0), cache_rows - 1) + 1;
  float query[kColumns], sum_o[kColumns] = {};
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int column = c * 32 + lane;
    query[c] = column < head_dim ? to_float(q[static_cast<int64_t>(head) * head_dim + column]) * scale : 0.0f;
  }
  float max = -INFINITY, sum = 0;
  for (int key = warp; key < keys; key += kWarps) {
    const T* k = cache_k + key * width + base;
    const T* v = cache_v + key * width + base;
    float dot = 0;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int column = c * 32 + lane;
      if (column < head_dim) dot += query[c] * to_float(k[column]);
    }
    dot = warp_sum(dot);
    const float next = fmaxf(max, dot);
    const float keep = expf(max - next), weight = expf(dot - next);
    sum = sum * keep + weight;
    max = next;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int column = c * 32 + lane;
      if (column < head_dim) sum_o[c] = sum_o[c] * keep + weight * to_float(v[column]);
    }
  }
  if (lane == 0) {
    maxima[warp] = max;
    sums[warp] = sum;
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int column = c * 32 + lane;
    if (column < head_dim) outputs[warp * head_dim + column] = sum_o[c];
  }
  __syncthreads();
  float total_max = -INFINITY;
  for (int w = 0; w < kWarps; ++w) total_max = fmaxf(total_max, maxima[w]);
  float total = 0;
  for (int w = 0; w < kWarps; ++w) total += sums[w] * expf(maxima[w] - total_max);
  for (int column = threadIdx.x; column < head_dim; column += kThreads) {
    float value = 0;
    for (int w = 0; w < kWarps; ++w) value += outputs[w * head_dim + column] * expf(maxima[w] - total_max);
    o[static_cast<int64_t>(head) * head_dim + column] = from_float<T>(value / total);
  }
}

template <class T>
struct Store {
  static Launch bind(const Binding& b) {
    using S = slot::KvStore;
    const Shape& dims = b.shape(S::K);
    const T *k = b.data<T>(S::K), *v = b.data<T>(S::V);
    const int* position = b.data<int>(S::Position);
    T *cache_k = b.data<T>(S::CacheK), *cache_v = b.data<T>(S::CacheV);
    const int rows = static_cast<int>(b.rows(S::K, 2));
    const int width = static_cast<int>(dims[dims.rank - 2] * dims[dims.rank - 1]);
    const int cache_rows = static_cast<int>(b.rows(S::CacheK, 2));
    const int64_t k_stride = b.row_stride(S::K, 2), v_stride = b.row_stride(S::V, 2);
    const unsigned grid = grid_size(b, ceil_div(static_cast<int64_t>(rows) * width, kThreads));
    return [=](cudaStream_t stream) {
      launch_kernel("kv store", kv_store_kernel<T>, grid, kThreads, 0, stream, k, v, position, cache_k,
                    cache_v, rows, width, k_stride, v_stride, cache_rows);
    };
  }
};

template <class T>
struct Decode {
  static Launch bind(const Binding& b) {
    using S = slot::AttentionDecode;
    const Shape &q_dims = b.shape(S::Q), &k_dims = b.shape(S::CacheK);
    const int heads = static_cast<int>(q_dims[q_dims.rank - 2]),
              head_dim = static_cast<int>(q_dims[q_dims.rank - 1]);
    const int kv_heads = static_cast<int>(k_dims[k_dims.rank - 2]);
    if (head_dim > 256)
      throw Error(ErrorCode::Unsupported, describe(b.op()) + ": head dims above 256 are not supported.",
                  "Use a head dim of at most 256.");
    const T *q = b.data<T>(S::Q), *cache_k = b.data<T>(S::CacheK), *cache_v = b.data<T>(S::CacheV);
    const int* position = b.data<int>(S::Position);
    T* o = b.data<T>(S::O);
    const int cache_rows = static_cast<int>(b.rows(S::CacheK, 2));
    const float scale = static_cast<float>(b.attributes().scale);
    const size_t shared = static_cast<size_t>(kThreads / 32 * head_dim) * 4;
    return [=](cudaStream_t stream) {
      launch_kernel("attention decode", attention_decode_kernel<T>, static_cast<unsigned>(heads), kThreads,
                    shared, stream, q, cache_k, cache_v, position, o, heads / kv_heads, kv_heads, head_dim,
                    cache_rows, scale);
    };
  }
};

}  // namespace

Launch bind_kv_store(const Binding& binding) {
  return dispatch_float<Store>(binding, slot::KvStore::K);
}

Launch bind_attention_decode(const Binding& binding) {
  return dispatch_float<Decode>(binding, slot::AttentionDecode::Q);
}

}  // namespace lathe::cuda
