// Building blocks of the mma.sync attention kernels (sm_80 and later): swizzled BF16 tiles in shared memory,
// asynchronous copies into them, and the fragments of mma.m16n8k16.
//
// Fragment layout, lane = 4g + c: an accumulator holds (row g, columns 2c, 2c+1) and (row g+8, the same); two
// neighbouring accumulators, rounded to BF16, are therefore one A operand with k = their 16 columns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::attention {

// Swizzle of a row-major BF16 tile with `kColumns` columns: 16-byte chunk c of row r is kept at chunk
// c ^ twist(r), which puts the eight rows an ldmatrix reads into eight different bank groups without padding.
template <int kColumns>
struct Tile {
  static_assert(kColumns % 16 == 0);
  static constexpr int kChunks = kColumns / 8;
  static constexpr int kRowBytes = kColumns * 2;
  static constexpr int kMask = kChunks % 8 == 0 ? 7 : kChunks % 4 == 0 ? 3 : 1;
  static constexpr int kShift = kChunks % 8 == 0 ? 0 : kChunks % 4 == 0 ? 1 : 2;

  __device__ __forceinline__ static int twist(int row) { return (row >> kShift) & kMask; }
  __device__ __forceinline__ static uint32_t offset(int row, int chunk) {
    return static_cast<uint32_t>(row * kRowBytes + ((chunk ^ twist(row)) << 4));
  }
};

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory; zeros where `valid` is false (the source is then not read).
__device__ __forceinline__ void copy_async_16(uint32_t target, const void* source, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(valid ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void copy_async_4(uint32_t target, const void* source, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(target), "l"(source), "r"(valid ? 4 : 0)
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// Starts copying rows first_row.. of one head into a tile; rows at or past `rows` and columns at or past
// `columns` become zero. `source` points at row 0, column 0 of the head.
template <int kRows, int kColumns, int kThreads>
__device__ __forceinline__ void load_tile(uint32_t target, const __nv_bfloat16* source, int64_t row_stride,
                                          int first_row, int rows, int columns) {
  using Layout = Tile<kColumns>;
  const __nv_bfloat16* const tile = source + first_row * row_stride;
  const int pitch = static_cast<int>(row_stride);  // a tile spans less than 2^31 elements
  constexpr int kPieces = kRows * Layout::kChunks;
#pragma unroll
  for (int base = 0; base < kPieces; base += kThreads) {
    const int piece = base + static_cast<int>(threadIdx.x);
    if (kPieces % kThreads != 0 && piece >= kPieces) break;
    const int row = piece / Layout::kChunks;
    const int chunk = piece % Layout::kChunks;
    const bool valid = first_row + row < rows && chunk * 8 < columns;
    copy_async_16(target + Layout::offset(row, chunk), valid ? tile + row * pitch + chunk * 8 : source,
                  valid);
  }
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// The operands of a 16-wide k step, each from a tile at `base`; lane is 0..31.
// A[16,16] at (row, chunk·8) of a tile stored [m][k].
template <int kColumns>
__device__ __forceinline__ void load_a(uint32_t (&a)[4], uint32_t base, int row, int chunk, int lane) {
  load_matrices(a, base + Tile<kColumns>::offset(row + (lane & 15), chunk + (lane >> 4)));
}
// A[16,16] of a tile stored [k][m].
template <int kColumns>
__device__ __forceinline__ void load_a_transposed(uint32_t (&a)[4], uint32_t base, int k_row, int m_chunk,
                                                  int lane) {
  load_matrices_transposed(
      a, base + Tile<kColumns>::offset(k_row + (lane & 7) + ((lane >> 4) << 3), m_chunk + ((lane >> 3) & 1)));
}
// B[16,16], two n8 halves {b[0],b[1]} and {b[2],b[3]}, of a tile stored [n][k].
template <int kColumns>
__device__ __forceinline__ void load_b(uint32_t (&b)[4], uint32_t base, int n_row, int k_chunk, int lane) {
  load_matrices(
      b, base + Tile<kColumns>::offset(n_row + (lane & 7) + ((lane >> 4) << 3), k_chunk + ((lane >> 3) & 1)));
}
// The same of a tile stored [k][n].
template <int kColumns>
__device__ __forceinline__ void load_b_transposed(uint32_t (&b)[4], uint32_t base, int k_row, int n_chunk,
                                                  int lane) {
  load_matrices_transposed(b, base + Tile<kColumns>::offset(k_row + (lane & 15), n_chunk + (lane >> 4)));
}

// The first half of that alone: B[16,8].
template <int kColumns>
__device__ __forceinline__ void load_b_half_transposed(uint32_t (&b)[2], uint32_t base, int k_row,
                                                       int n_chunk, int lane) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(base + Tile<kColumns>::offset(k_row + (lane & 15), n_chunk))
               : "memory");
}

// acc[16,8] += A[16,16] · B[16,8]
__device__ __forceinline__ void multiply_add(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// Two neighbouring accumulators as one A operand.
__device__ __forceinline__ void round_to_a(uint32_t (&a)[4], const float (&left)[4],
                                           const float (&right)[4]) {
  a[0] = pack_bf16(left[0], left[1]);
  a[1] = pack_bf16(left[2], left[3]);
  a[2] = pack_bf16(right[0], right[1]);
  a[3] = pack_bf16(right[2], right[3]);
}

// 2^x by the special function unit: relative error 2^-22, 0 for -infinity.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The first key query t sees: its document's start, held within 0..t.
__device__ __forceinline__ int first_key(const int32_t* document_start, int t) {
  if (document_start == nullptr) return 0;
  const int start = document_start[t];
  return start < 0 ? 0 : start > t ? t : start;
}

}  // namespace lathe::attention
