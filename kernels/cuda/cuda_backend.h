// The CUDA backend as the application sees it: an entry of the backend registry, with or without a GPU.
//
// The backend itself is a shared module (lathe_cuda) that is loaded at run time, so that a program built
// with CUDA also starts on a machine without driver, GPU or libraries and can say what is missing.
#pragma once

#include "kernels/api/backend.h"

namespace lathe {

// The GPU with this ordinal, or the reason in words why there is none and what to do. Never throws. The
// module stays loaded until the process ends.
BackendEntry cuda_backend_entry(int device = 0);

// The same for callers that need the backend itself. Throws Error Unsupported with the reason.
std::unique_ptr<Backend> make_cuda_backend(int device = 0);

}  // namespace lathe
