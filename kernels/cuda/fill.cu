// Random finite bits: what timing and the warm-up run on, since zeros are multiplied faster than data.
#include "kernels/cuda/backend.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/gemm.h"

namespace lathe::cuda {

namespace {

// Each half of a word is a BF16 of ±[0.5, 2); the word itself, read as FP32, as well.
__global__ void fill_random_kernel(uint32_t* words, int64_t count, uint32_t seed) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    uint32_t x = static_cast<uint32_t>(i) * 0x9E3779B9u + seed;
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    x ^= x >> 16;
    words[i] = (x & 0x80FF80FFu) | 0x3F003F00u;
  }
}

}  // namespace

void fill_random(std::byte* memory, int64_t bytes, uint32_t seed, cudaStream_t stream) {
  fill_random_kernel<<<2048, 256, 0, stream>>>(reinterpret_cast<uint32_t*>(memory), bytes / 4, seed);
  check_launch("filling memory for timing");
}

bool kernels_run_here() {
  cudaFuncAttributes attributes{};
  const bool found = cudaFuncGetAttributes(&attributes, fill_random_kernel) == cudaSuccess;
  cudaGetLastError();  // the question leaves no error behind
  return found;
}

}  // namespace lathe::cuda
