// Stands in for cudnn_attention.cpp where cudnn-frontend was not found: every attention takes the own
// kernels.
#include "kernels/api/error.h"
#include "kernels/cuda/cudnn_attention.h"

namespace lathe::cuda {

struct CudnnAttention::State {};

CudnnAttention::CudnnAttention() {
  throw Error(ErrorCode::Unsupported, "This build has no cuDNN attention.",
              "Build with cudnn-frontend's headers (LATHE_CUDNN_FRONTEND).");
}

CudnnAttention::~CudnnAttention() = default;

std::optional<Launch> CudnnAttention::prepare(const SdpaProblem&, const SdpaOperands&, KernelSelection&) {
  return std::nullopt;
}

int64_t cudnn_version() {
  return 0;
}

}  // namespace lathe::cuda
