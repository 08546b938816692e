// Attention through cuDNN: causal, grouped-query, BF16, forward and deterministic backward.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/binding.h"
#include "kernels/cuda/kernel_selection.h"

namespace lathe::cuda {

// One call over `batch` sequences. Row strides in elements; a sequence's rows follow those of the one before.
struct SdpaProblem {
  bool backward = false;
  int64_t batch = 1, context = 1, heads = 1, kv_heads = 1, head_dim = 64;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0;     // of q, k, v
  int64_t dq_stride = 0, dk_stride = 0, dv_stride = 0;  // of their gradients
  double scale = 1;

  std::string key() const;
};

struct SdpaOperands {
  std::byte *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr;
  std::byte *d_o = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
  float* lse = nullptr;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

class CudnnAttention {
 public:
  CudnnAttention();  // throws Error Unsupported, with the reason, when cuDNN can't be used
  ~CudnnAttention();

  // A launch whose workspace fits: over the whole batch, else sequence by sequence; nullopt when cuDNN has no
  // kernel for the problem. The plan chosen is recorded in `selection`, and the one recorded there is used
  // again.
  std::optional<Launch> prepare(const SdpaProblem& problem, const SdpaOperands& operands,
                                KernelSelection& selection);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// cuDNN's version at run time: 91900 for 9.19.0; 0 in a build without it.
int64_t cudnn_version();

}  // namespace lathe::cuda
