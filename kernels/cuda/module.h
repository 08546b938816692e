// The one symbol that the CUDA module exports.
#pragma once

#include "kernels/api/backend.h"

namespace lathe {

// Fills entry->backend, or entry->unavailable with the reason. Never throws.
using OpenCudaModule = void(int device, BackendEntry* entry);
inline constexpr const char* kOpenCudaModule = "lathe_open_cuda_module";

}  // namespace lathe
