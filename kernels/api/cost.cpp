#include "kernels/api/cost.h"

namespace lathe {

OpCost op_cost(const StepProgram& program, const Op& op) {
  OpCost cost;
  for (const Operand& operand : op.operands) {
    if (operand.tensor == kNone || operand.access == Access::Scratch) continue;
    const double bytes = static_cast<double>(program.tensor(operand.tensor).bytes());
    const bool both = operand.access == Access::InPlace || operand.access == Access::Accumulate;
    cost.bytes += both ? 2 * bytes : bytes;
  }
  const auto elements = [&](int slot) {
    return static_cast<double>(program.tensor(op.tensor(slot)).elements());
  };
  const auto last_dim = [&](int slot) {
    const Shape& shape = program.tensor(op.tensor(slot)).shape;
    return static_cast<double>(shape[shape.rank - 1]);
  };
  switch (op.kind) {
    case OpKind::Linear:
      cost.executed_flops = 2 * elements(slot::Linear::X) * last_dim(slot::Linear::Y);
      cost.unit = Unit::Matrix;
      break;
    case OpKind::LinearBackwardInput:
      cost.executed_flops =
          2 * elements(slot::LinearBackwardInput::Dy) * last_dim(slot::LinearBackwardInput::Dx);
      cost.unit = Unit::Matrix;
      break;
    case OpKind::LinearBackwardWeight:
      cost.executed_flops =
          2 * elements(slot::LinearBackwardWeight::Dy) * last_dim(slot::LinearBackwardWeight::X);
      cost.unit = Unit::Matrix;
      break;
    case OpKind::Attention: {
      const double context = static_cast<double>(program.tensor(op.tensor(slot::Attention::Q)).shape[1]);
      cost.executed_flops = 2 * elements(slot::Attention::Q) * context;
      cost.unit = Unit::Attention;
      break;
    }
    case OpKind::AttentionBackward: {
      const double context =
          static_cast<double>(program.tensor(op.tensor(slot::AttentionBackward::Q)).shape[1]);
      cost.executed_flops = 5 * elements(slot::AttentionBackward::Q) * context;
      cost.unit = Unit::Attention;
      break;
    }
    default:
      break;  // memory-bound: bytes decide
  }
  if (op.phase != Phase::Recompute) {
    cost.model_flops =
        op.kind == OpKind::AttentionBackward ? cost.executed_flops * 4 / 5 : cost.executed_flops;
  }
  if (op.kind == OpKind::Embedding || op.kind == OpKind::EmbeddingBackward) {
    // Only the rows of the batch move, not the whole table.
    const int rows_slot = op.kind == OpKind::Embedding ? +slot::Embedding::Y : +slot::EmbeddingBackward::Dy;
    const double rows = static_cast<double>(program.tensor(op.tensor(rows_slot)).bytes());
    cost.bytes = (op.kind == OpKind::Embedding ? 2 : 3) * rows;
  }
  return cost;
}

}  // namespace lathe
