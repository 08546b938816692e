#include "kernels/cuda/check.h"

namespace lathe::cuda {

bool is_sticky(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorDevicesUnavailable:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

bool device_overlaps_launches() {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "finding the GPU");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "reading the GPU's properties");
  return major >= 9;
}

int device_block_shared_bytes() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "finding the GPU");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "reading the size of shared memory");
  return bytes;
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string text =
      std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ").";
  if (status == cudaErrorMemoryAllocation)
    throw Error(ErrorCode::OutOfMemory, text, "Free GPU memory or make the run smaller.");
  if (is_sticky(status))
    throw Error(ErrorCode::Backend, text,
                "The GPU can't be used by this process any more: start it again and resume from the last "
                "checkpoint. If "
                "it happens again, please report it with this text.");
  throw Error(ErrorCode::Backend, text,
              "Check the driver with nvidia-smi; if it is well, please report this text.");
}

StreamHandle make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return StreamHandle(stream);
}

EventHandle make_event(bool timed) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
        "creating an event");
  return EventHandle(event);
}

PinnedHandle make_pinned(size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "allocating pinned host memory");
  return PinnedHandle(memory);
}

}  // namespace lathe::cuda
