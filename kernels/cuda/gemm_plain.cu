// FP32 matrix product rounded to BF16 once: gradients of an FP32 run that are stored in BF16. One output a
// thread, tiles of 32 in shared memory; correctness and clarity before speed, since no fast configuration
// needs it.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/gemm.h"

namespace lathe::cuda {

namespace {

constexpr int kTile = 32;

// Column-major, as GemmProblem states it.
__global__ void plain_gemm_kernel(const float* a, const float* b, const bf16* c, bf16* d, GemmProblem p) {
  await_predecessor();
  __shared__ float tile_a[kTile][kTile + 1], tile_b[kTile][kTile + 1];
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const int64_t column = static_cast<int64_t>(blockIdx.y) * kTile + threadIdx.y;
  float sum = 0;
  for (int64_t start = 0; start < p.k; start += kTile) {
    const int64_t k_of_a = start + threadIdx.y, k_of_b = start + threadIdx.x;
    tile_a[threadIdx.y][threadIdx.x] =
        row < p.m && k_of_a < p.k ? a[p.transpose_a ? k_of_a + row * p.lda : row + k_of_a * p.lda] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] =
        column < p.n && k_of_b < p.k ? b[p.transpose_b ? column + k_of_b * p.ldb : k_of_b + column * p.ldb]
                                     : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += tile_a[k][threadIdx.x] * tile_b[threadIdx.y][k];
    __syncthreads();
  }
  if (row >= p.m || column >= p.n) return;
  if (p.add_c) sum += to_float(c[row + column * p.ldc]);
  d[row + column * p.ldd] = from_float<bf16>(sum);
}

}  // namespace

Launch bind_plain_gemm(const GemmOp& gemm) {
  const GemmProblem p = gemm.problem;
  const GemmOperands o = gemm.operands;
  const dim3 grid(static_cast<unsigned>(ceil_div(p.m, kTile)), static_cast<unsigned>(ceil_div(p.n, kTile)));
  return [=](cudaStream_t stream) {
    launch_kernel("matrix product", plain_gemm_kernel, grid, dim3(kTile, kTile), 0, stream,
                  static_cast<const float*>(o.a), static_cast<const float*>(o.b),
                  static_cast<const bf16*>(o.c), static_cast<bf16*>(o.d), p);
  };
}

}  // namespace lathe::cuda
