// Workspace formulas per target. Each names what the bytes are for; backends size their algorithms by them.
#include <algorithm>

#include "kernels/api/target.h"

namespace lathe {

namespace {

int64_t cuda_workspace(const StepProgram& program, const Op& op) {
  const auto shape = [&](int slot) -> const Shape& { return program.tensor(op.tensor(slot)).shape; };
  switch (op.kind) {
    case OpKind::Linear:
    case OpKind::LinearBackwardInput:
    case OpKind::LinearBackwardWeight:
      return int64_t{32} << 20;  // cuBLASLt's advice for Hopper and Blackwell; split-K partial sums live here
    case OpKind::RmsNormBackward:
      return int64_t{512} * shape(slot::RmsNormBackward::X)[1] *
             4;  // partial weight gradients of up to 512 blocks
    default:
      return 0;
  }
}

}  // namespace

int64_t workspace_bytes(const ExecutionTarget& target, const StepProgram& program, const Op& op) {
  return target.kind == DeviceKind::Cuda ? cuda_workspace(program, op) : 0;
}

}  // namespace lathe
