#include "kernels/api/program.h"

namespace lathe {

namespace {

struct KindFacts {
  OpKind kind;
  std::string_view name;
  int slots;
};

constexpr std::array<KindFacts, kOpKindCount> kKinds{{
    {OpKind::Fill, "fill", 1},
    {OpKind::Embedding, "embedding", 3},
    {OpKind::EmbeddingBackward, "embedding backward", 4},
    {OpKind::RmsNorm, "rms norm", 4},
    {OpKind::RmsNormBackward, "rms norm backward", 7},
    {OpKind::Linear, "linear", 4},
    {OpKind::LinearBackwardInput, "linear backward input", 3},
    {OpKind::LinearBackwardWeight, "linear backward weight", 3},
    {OpKind::QkNorm, "qk norm", 7},
    {OpKind::QkNormBackward, "qk norm backward", 9},
    {OpKind::Rope, "rope", 4},
    {OpKind::RopeBackward, "rope backward", 4},
    {OpKind::Attention, "attention", 6},
    {OpKind::AttentionBackward, "attention backward", 10},
    {OpKind::SwiGlu, "swiglu", 2},
    {OpKind::SwiGluBackward, "swiglu backward", 3},
    {OpKind::ClassifierLoss, "classifier loss", 5},
    {OpKind::LossSum, "loss sum", 3},
    {OpKind::GradientNorm, "gradient norm", 2},
    {OpKind::ClipFactor, "clip factor", 4},
    {OpKind::AdamW, "adamw", 9},
    {OpKind::KvStore, "kv store", 5},
    {OpKind::AttentionDecode, "attention decode", 5},
    {OpKind::GatherRow, "gather row", 3},
}};

const KindFacts& facts(OpKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

}  // namespace

std::string_view op_kind_name(OpKind kind) {
  return facts(kind).name;
}

int slot_count(OpKind kind) {
  return facts(kind).slots;
}

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "forward";
    case Phase::Recompute:
      return "recompute";
    case Phase::Backward:
      return "backward";
    case Phase::Update:
      return "update";
  }
  return "?";
}

std::string_view sequence_name(SequenceId id) {
  switch (id) {
    case SequenceId::MicroFirst:
      return "first micro-step";
    case SequenceId::MicroRest:
      return "micro-step";
    case SequenceId::Update:
      return "update";
    case SequenceId::Statistics:
      return "statistics";
    case SequenceId::Evaluate:
      return "evaluation";
    case SequenceId::Prefill:
      return "prefill";
    case SequenceId::Decode:
      return "decode";
  }
  return "?";
}

std::string describe(const Op& op) {
  std::string text;
  if (op.layer != kNone) text = "layer " + std::to_string(op.layer) + " ";
  text += op_kind_name(op.kind);
  if (op.phase == Phase::Recompute) text += " (recomputed)";
  return text;
}

std::string describe_operands(const StepProgram& program, const Op& op) {
  std::string text;
  for (const Operand& operand : op.operands) {
    if (operand.tensor == kNone) continue;
    const Tensor& tensor = program.tensor(operand.tensor);
    if (!text.empty()) text += ", ";
    text += tensor.name + " " + std::string(dtype_name(tensor.dtype)) + "[";
    for (int i = 0; i < tensor.shape.rank; ++i) {
      if (i > 0) text += "x";
      text += std::to_string(tensor.shape[i]);
    }
    text += "]";
  }
  return text;
}

}  // namespace lathe
