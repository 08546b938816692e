// An op with its operands resolved to device addresses: what every op family binds its launch from.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include "kernels/api/program.h"

namespace lathe::cuda {

// Enqueues one op. Holds typed pointers and sizes; allocates nothing, looks nothing up, synchronises nothing.
using Launch = std::function<void(cudaStream_t)>;

class Binding {
 public:
  Binding(const StepProgram& program, const MemoryPlan& plan, std::byte* arena, const Op& op,
          int multiprocessors)
      : program_(program), plan_(plan), arena_(arena), op_(op), multiprocessors_(multiprocessors) {}

  const Op& op() const { return op_; }
  const StepProgram& program() const { return program_; }
  const OpAttributes& attributes() const { return op_.attributes; }
  int multiprocessors() const { return multiprocessors_; }

  bool has(int slot) const { return op_.tensor(slot) != kNone; }
  const Tensor& tensor(int slot) const { return program_.tensor(op_.tensor(slot)); }
  const Shape& shape(int slot) const { return tensor(slot).shape; }
  DType dtype(int slot) const { return tensor(slot).dtype; }
  bool accumulates(int slot) const { return op_.access(slot) == Access::Accumulate; }

  // Device address of the first element; null for an absent operand.
  void* address(int slot) const;
  template <class T>
  T* data(int slot) const {
    return static_cast<T*>(address(slot));
  }

  // Elements between neighbouring rows, rows being all dimensions but the last `inner`. Throws Internal when
  // the rows don't stand at one distance or the inner dimensions aren't contiguous.
  int64_t row_stride(int slot, int inner = 1) const;
  int64_t rows(int slot, int inner = 1) const;

  // The largest vector of elements (16 bytes, or 1 element) with which every named operand can be read row by
  // row.
  bool vectorised(std::initializer_list<int> slots, int inner = 1) const;

  // The planned workspace, the operand after the kind's own; null and 0 when none was planned.
  void* workspace() const { return address(slot_count(op_.kind)); }
  int64_t workspace_bytes() const;

  // Throws Internal unless the planned workspace has at least these bytes.
  void need_workspace(int64_t bytes) const;

 private:
  const StepProgram& program_;
  const MemoryPlan& plan_;
  std::byte* arena_;
  const Op& op_;
  int multiprocessors_;
};

// Binders by family. Each throws Error Unsupported or Internal, in words, for what it can't launch.
Launch bind_fill(const Binding& binding);
Launch bind_embedding(const Binding& binding);
Launch bind_embedding_backward(const Binding& binding);
Launch bind_rms_norm(const Binding& binding);
Launch bind_rms_norm_backward(const Binding& binding);
Launch bind_qk_norm(const Binding& binding);
Launch bind_qk_norm_backward(const Binding& binding);
Launch bind_rope(const Binding& binding);  // both directions
Launch bind_swiglu(const Binding& binding);
Launch bind_swiglu_backward(const Binding& binding);
Launch bind_classifier_loss(const Binding& binding);
Launch bind_loss_sum(const Binding& binding);
Launch bind_gradient_norm(const Binding& binding);
Launch bind_clip_factor(const Binding& binding);
Launch bind_adamw(const Binding& binding);
Launch bind_kv_store(const Binding& binding);
Launch bind_attention_decode(const Binding& binding);
Launch bind_gather_row(const Binding& binding);

}  // namespace lathe::cuda
