// Attention ops: which of cuDNN and Lathe's own kernels runs them.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/binding.h"
#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/kernel_selection.h"

namespace lathe::cuda {

class SdpaLibrary {
 public:
  // Takes cuDNN ("9.19.0"; "none") where its version can be trusted on this architecture (90 for sm_90).
  SdpaLibrary(const std::string& cudnn_version, int compute_capability);

  // An Attention or AttentionBackward op. BF16 without a document mask goes to cuDNN if it has a kernel whose
  // workspace fits, all else to the own kernels. The choice is recorded in `selection`.
  Launch prepare(const Binding& binding, KernelSelection& selection);

 private:
  std::unique_ptr<CudnnAttention> cudnn_;  // null: not used
};

}  // namespace lathe::cuda
