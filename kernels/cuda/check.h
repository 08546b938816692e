// CUDA and cuBLASLt status codes as Error, and RAII for their handles.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <type_traits>

#include "kernels/api/error.h"

namespace lathe::cuda {

// Throws Error (OutOfMemory or Backend) unless status is cudaSuccess. `what` says what was tried.
void check(cudaError_t status, const char* what);

// Throws for an error that a kernel launch just before left behind.
inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

// Whether the current device can start a kernel while its predecessor drains (compute capability 9.0 and
// newer).
bool device_overlaps_launches();

// Shared memory that one block may have on the current device.
int device_block_shared_bytes();

// True for errors after which this process can't use the device any more.
bool is_sticky(cudaError_t status);

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};
using StreamHandle = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroyer<cudaStreamDestroy>>;
using EventHandle = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroyer<cudaEventDestroy>>;
using GraphHandle = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroyer<cudaGraphDestroy>>;
using GraphExecHandle =
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroyer<cudaGraphExecDestroy>>;
using PinnedHandle = std::unique_ptr<void, Destroyer<cudaFreeHost>>;
using DeviceHandle = std::unique_ptr<void, Destroyer<cudaFree>>;

StreamHandle make_stream();
EventHandle make_event(bool timed);
PinnedHandle make_pinned(size_t bytes);

}  // namespace lathe::cuda
