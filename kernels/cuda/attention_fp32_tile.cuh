// Building blocks of the FP32 attention kernels: 256 threads as 16 × 16, plain FMA, no TF32.
//
// Thread (ty, tx) owns rows ty + 16i of a product. Of a score tile it owns columns tx + 16j; of a product
// with head-dim columns, columns 4tx .. 4tx+3 of every 64. A row of scores lies in 16 neighbouring lanes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::attention::fp32 {

inline constexpr int kThreads = 256;

// A tile of kRows rows of a head padded to kHeadDim; the odd pitch in units of 16 bytes avoids bank
// conflicts.
template <int kRows, int kHeadDim>
struct Tile {
  static constexpr int kPitch = kHeadDim + 4;
  static constexpr int kFloats = kRows * kPitch;
};
// Scores, kRows × kRows.
template <int kRows>
struct ScoreTile {
  static constexpr int kPitch = kRows + 1;
  static constexpr int kFloats = kRows * kPitch;
};

__device__ __forceinline__ int thread_row() {
  return static_cast<int>(threadIdx.x) / 16;
}
__device__ __forceinline__ int thread_column() {
  return static_cast<int>(threadIdx.x) % 16;
}

// Copies rows first_row.. of one head; what lies outside `rows` or `columns` becomes zero.
template <int kRows, int kHeadDim>
__device__ void load_tile(float* tile, const float* source, int64_t row_stride, int first_row, int rows,
                          int columns) {
  constexpr int kPieces = kHeadDim / 4;
  for (int piece = static_cast<int>(threadIdx.x); piece < kRows * kPieces; piece += kThreads) {
    const int row = piece / kPieces;
    const int column = piece % kPieces * 4;
    float4 value = make_float4(0, 0, 0, 0);
    if (first_row + row < rows && column < columns) {
      value = *reinterpret_cast<const float4*>(source + (first_row + row) * row_stride + column);
    }
    *reinterpret_cast<float4*>(tile + row * Tile<kRows, kHeadDim>::kPitch + column) = value;
  }
}

// scores[i][j] = dot of row ty+16i of a and row tx+16j of b.
template <int kRows, int kHeadDim>
__device__ void multiply_rows(float (&scores)[kRows / 16][kRows / 16], const float* a, const float* b) {
  constexpr int kPitch = Tile<kRows, kHeadDim>::kPitch;
  constexpr int kPer = kRows / 16;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) scores[i][j] = 0;
  }
#pragma unroll 4
  for (int d = 0; d < kHeadDim; d += 4) {
    float4 x[kPer];
    float4 y[kPer];
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      x[i] = *reinterpret_cast<const float4*>(a + (thread_row() + 16 * i) * kPitch + d);
      y[i] = *reinterpret_cast<const float4*>(b + (thread_column() + 16 * i) * kPitch + d);
    }
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        scores[i][j] = fmaf(x[i].x, y[j].x, scores[i][j]);
        scores[i][j] = fmaf(x[i].y, y[j].y, scores[i][j]);
        scores[i][j] = fmaf(x[i].z, y[j].z, scores[i][j]);
        scores[i][j] = fmaf(x[i].w, y[j].w, scores[i][j]);
      }
    }
  }
}

// out rows ty+16i += scores (or its transpose) times the rows of b.
template <int kRows, int kHeadDim, bool kTransposed>
__device__ void add_product(float (&out)[kRows / 16][kHeadDim / 16], const float* scores, const float* b) {
  constexpr int kPitch = Tile<kRows, kHeadDim>::kPitch;
  constexpr int kScorePitch = ScoreTile<kRows>::kPitch;
#pragma unroll 4
  for (int k = 0; k < kRows; ++k) {
    float weight[kRows / 16];
#pragma unroll
    for (int i = 0; i < kRows / 16; ++i) {
      const int row = thread_row() + 16 * i;
      weight[i] = kTransposed ? scores[k * kScorePitch + row] : scores[row * kScorePitch + k];
    }
#pragma unroll
    for (int c = 0; c < kHeadDim / 64; ++c) {
      const float4 y = *reinterpret_cast<const float4*>(b + k * kPitch + c * 64 + thread_column() * 4);
#pragma unroll
      for (int i = 0; i < kRows / 16; ++i) {
        out[i][c * 4] = fmaf(weight[i], y.x, out[i][c * 4]);
        out[i][c * 4 + 1] = fmaf(weight[i], y.y, out[i][c * 4 + 1]);
        out[i][c * 4 + 2] = fmaf(weight[i], y.z, out[i][c * 4 + 2]);
        out[i][c * 4 + 3] = fmaf(weight[i], y.w, out[i][c * 4 + 3]);
      }
    }
  }
}

template <int kRows>
__device__ void store_scores(float* tile, const float (&scores)[kRows / 16][kRows / 16]) {
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      tile[(thread_row() + 16 * i) * ScoreTile<kRows>::kPitch + thread_column() + 16 * j] = scores[i][j];
    }
  }
}

// Writes factor · values of one row, this thread's columns.
template <int kHeadDim>
__device__ void store_row(float* row, const float (&values)[kHeadDim / 16], float factor, int columns) {
#pragma unroll
  for (int c = 0; c < kHeadDim / 64; ++c) {
    const int column = c * 64 + thread_column() * 4;
    if (column < columns) {
      *reinterpret_cast<float4*>(row + column) =
          make_float4(values[c * 4] * factor, values[c * 4 + 1] * factor, values[c * 4 + 2] * factor,
                      values[c * 4 + 3] * factor);
    }
  }
}

// The first key query t sees, held within 0..t.
__device__ __forceinline__ int first_key(const int32_t* document_start, int t) {
  if (document_start == nullptr) return 0;
  return max(0, min(document_start[t], t));
}
// The smallest of first_key over the tile's rows that exist; every warp computes it for itself.
template <int kRows>
__device__ int first_key_of_tile(const int32_t* document_start, int first_row, int rows) {
  if (document_start == nullptr) return 0;
  int first = rows;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < kRows && first_row + i < rows; i += 32) {
    first = min(first, first_key(document_start, first_row + i));
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) first = min(first, __shfl_xor_sync(0xffffffffu, first, step));
  return first;
}

}  // namespace lathe::attention::fp32
