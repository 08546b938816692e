// What RMSNorm's forward and backward share: the rows they walk, how rows of up to 2048 columns travel, and y
// itself, so that the backward can emit the forward's y with the same bits.
#pragma once

#include <algorithm>

#include "kernels/cuda/device.cuh"

namespace lathe::cuda {

struct NormRows {
  int64_t count;
  int columns;
  int64_t x, y, dy, residual;  // row strides in elements
};

template <class T, int N>
__device__ inline Vec<T, N> normalised(const float (&x)[N], float rstd, const float (&w)[N]) {
  float y[N];
#pragma unroll
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * w[i];
  return narrow<T>(y);
}

// Rows that one warp works on alone, on their way into shared memory: while it works on one, the next is
// copied. A lane copies and reads only its own vectors, those of columns (v·32 + lane)·N on, so that no
// thread waits for another.
inline constexpr int kRingMostVectors = 8;  // a lane: 2048 columns in BF16, 1024 in FP32
inline constexpr int kRingStages = 2;

template <class T, int N, int V, int OPERANDS>
struct RowRing {
  static_assert(sizeof(Vec<T, N>) == 16);
  static constexpr int kWarpVectors = kRingStages * OPERANDS * V * 32;
  static constexpr int kWarpBytes = kWarpVectors * 16;

  __device__ explicit RowRing(unsigned char* shared)
      : own_(reinterpret_cast<Vec<T, N>*>(shared) + (threadIdx.x >> 5) * kWarpVectors + (threadIdx.x & 31)) {}
  __device__ Vec<T, N>* at(int stage, int operand, int v) const {
    return own_ + ((stage * OPERANDS + operand) * V + v) * 32;
  }

 private:
  Vec<T, N>* own_;
};

// The most warps a block, up to `most`, whose rings fit into this GPU's shared memory.
inline int ring_warps(int most, int warp_bytes) {
  return std::clamp(device_block_shared_bytes() / warp_bytes, 1, most);
}

// Threads a block and vectors a thread for a row that a block walks side by side: as few vectors as leave the
// threads enough registers.
struct RowLayout {
  int threads, vectors;
};

constexpr int most_row_threads(int vectors) {
  return vectors == 1 ? 256 : 512;
}

inline RowLayout row_layout(const Binding& binding, int64_t columns, int lanes) {
  for (const int vectors : {1, 2, 4}) {
    const int64_t threads = ceil_div(ceil_div(columns, static_cast<int64_t>(lanes) * vectors), 32) * 32;
    if (threads <= most_row_threads(vectors)) return {static_cast<int>(threads), vectors};
  }
  throw Error(
      ErrorCode::Unsupported,
      describe(binding.op()) + ": rows of " + std::to_string(columns) + " columns are too wide.",
      "Use a hidden size of at most 16384 in BF16, 8192 in FP32 (2048 when it isn't a multiple of 8).");
}

}  // namespace lathe::cuda
