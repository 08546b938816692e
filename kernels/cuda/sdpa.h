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
  // Takes cuDNN where its version can be trusted on this architecture (90 for sm_90).
  explicit SdpaLibrary(int compute_capability);

  // An Attention or AttentionBackward op. BF16 without a document mask goes to cuDNN if it has a kernel whose
  // workspace fits, all else to the own kernels. The choice is recorded in `selection`.
  Launch prepare(const Binding& binding, KernelSelection& selection);

 private:
  std::unique_ptr<CudnnAttention> cudnn_;  // null: not used
};

// Why a cuDNN of this version (91900 for 9.19.0) isn't used on this architecture; empty when it is.
std::string cudnn_objection(int64_t version, int compute_capability);

}  // namespace lathe::cuda
