// A step program of a single op, with a guard zone on both sides of every tensor, so that tests can run one
// op on any backend and see all that it touched.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/api/program.h"
#include "kernels/api/target.h"

namespace lathe::test {

class OpProgram {
 public:
  static constexpr SequenceId kSequence = SequenceId::MicroFirst;
  static constexpr int64_t kGuardBytes = kBufferAlignment;

  explicit OpProgram(OpKind kind);

  StepProgram program;
  Op& op() { return program.sequence(kSequence).ops.front(); }
  const Op& op() const { return program.sequence(kSequence).ops.front(); }

  // Room for `bytes` between guard zones; lives as long as the executable, so the host may read and write it.
  BufferId add_buffer(int64_t bytes);

  // The whole buffer, guards included, as a dense U8 tensor.
  TensorId image(BufferId buffer) const { return images_[static_cast<size_t>(buffer)]; }

  // A dense tensor with a buffer of its own.
  TensorId add_tensor(DType dtype, const Shape& shape);

  // A view whose first element is element `offset` behind the buffer's first guard.
  TensorId add_view(BufferId buffer, DType dtype, const Shape& shape, const std::array<int64_t, 4>& strides,
                    int64_t offset);

  // [leading…, heads, dim] views lying side by side in one [leading…, sum of heads, dim] buffer, with a gap
  // of one dim behind each row: q, k and v as a fused projection leaves them.
  std::vector<TensorId> add_head_views(DType dtype, const std::vector<int64_t>& leading,
                                       const std::vector<int64_t>& heads, int64_t dim);

  void add_operand(TensorId tensor, Access access) { op().operands.push_back({tensor, access}); }

  // The workspace operand that the target plans for the op, when there is one. Call it last.
  void add_workspace(const ExecutionTarget& target);

  // Buffers one after the other.
  MemoryPlan plan() const;

 private:
  std::vector<TensorId> images_;  // by BufferId
};

}  // namespace lathe::test
