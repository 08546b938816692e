#include "tests/gpu/copy_bench.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace lathe::test {

namespace {

void require(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

__global__ void copy_kernel(const uint4* from, uint4* to, int64_t count) {
  const int64_t start = static_cast<int64_t>(blockIdx.x) * 1024 + threadIdx.x;
  uint4 values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (start + i * 256 < count) values[i] = from[start + i * 256];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (start + i * 256 < count) to[start + i * 256] = values[i];
}

}  // namespace

double copy_microseconds(int64_t bytes_moved) {
  int device = 0, l2 = 0;
  require(cudaGetDevice(&device));
  require(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  const int64_t half = (bytes_moved / 2 + 15) / 16 * 16, count = half / 16;
  const int64_t sets = std::clamp<int64_t>(4 * static_cast<int64_t>(l2) / bytes_moved + 2, 2, 4096);
  std::byte* memory = nullptr;
  require(cudaMalloc(&memory, static_cast<size_t>(2 * half * sets)));
  require(cudaMemset(memory, 0x3f, static_cast<size_t>(2 * half * sets)));
  cudaStream_t stream = nullptr;
  require(cudaStreamCreate(&stream));
  const int64_t calls = std::max<int64_t>(sets, 16);
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int64_t i = 0; i < calls; ++i) {
    std::byte* base = memory + i % sets * 2 * half;
    copy_kernel<<<static_cast<unsigned>((count + 1023) / 1024), 256, 0, stream>>>(
        reinterpret_cast<const uint4*>(base), reinterpret_cast<uint4*>(base + half), count);
  }
  cudaGraph_t graph = nullptr;
  require(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  require(cudaGraphInstantiate(&executable, graph, 0));
  cudaEvent_t begin = nullptr, end = nullptr;
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 8; ++i) {
    require(cudaEventRecord(begin, stream));
    require(cudaGraphLaunch(executable, stream));
    require(cudaEventRecord(end, stream));
    require(cudaEventSynchronize(end));
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin, end));
    times.push_back(milliseconds);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(memory);
  return times[4] * 1e3 / static_cast<double>(calls);
}

}  // namespace lathe::test
