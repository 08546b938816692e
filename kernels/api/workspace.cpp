// Workspace formulas per target. Each names what the bytes are for; backends size their algorithms by them.
#include <algorithm>

#include "kernels/api/target.h"

namespace lathe {

namespace {

int64_t rounded_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

// Own attention backward: per query row of the context padded to 128 the statistics delta and, in BF16,
// logsumexp and one FP32 row of dq at the compiled head dim, then turn counters and tile bounds
// (kernels/cuda/attention_own.h).
int64_t own_attention_backward(const Shape& q, DType dtype) {
  const int64_t batch = q[0], padded = rounded_up(q[1], 128), heads = q[2];
  const int64_t rows = batch * heads * padded;
  const int64_t delta = rounded_up(rows * 4, 256);
  if (dtype == DType::F32) return delta;
  const int64_t head_dim = q[3] <= 64 ? 64 : q[3] <= 128 ? rounded_up(q[3], 16) : q[3] <= 192 ? 192 : 256;
  return 2 * delta + rows * head_dim * 4 + rounded_up(rows / 4, 256) + rounded_up(batch * padded / 4, 256) +
         rounded_up(batch * padded * 4, 256) + 256;
}

// cuDNN's deterministic backward on Hopper, one sequence at a time: dP [H,T,T] in BF16 with sides padded to
// 64, the row sums in FP32, and, with grouped queries, dk and dv of every query head in BF16. Read off
// cuDNN 9.19 on an H200.
int64_t cudnn_attention_backward(const Shape& q, int64_t kv_heads) {
  const int64_t context = q[1], padded = rounded_up(context, 64), heads = q[2];
  const int64_t full_heads = kv_heads == heads ? 0 : 2 * heads * context * q[3] * 2;
  return heads * padded * padded * 2 + rounded_up(heads * context * 4, 256) + rounded_up(full_heads, 256) +
         4096;
}

int64_t attention_backward(const ExecutionTarget& target, const StepProgram& program, const Op& op) {
  using S = slot::AttentionBackward;
  const Tensor& q = program.tensor(op.tensor(S::Q));
  const int64_t own = own_attention_backward(q.shape, q.dtype);
  const bool hopper = target.compute_capability == 0 || target.compute_capability / 10 == 9;
  // Head dims that pad to 64, 112 or 128 run on the own Hopper kernel (kernels/cuda/sdpa.cpp); cuDNN gets the
  // others.
  const int64_t head_dim = q.shape[3];
  const bool own_kernel = head_dim <= 64 || (head_dim > 96 && head_dim <= 128);
  if (q.dtype != DType::BF16 || op.tensor(S::DocumentStart) != kNone || !hopper || own_kernel) return own;
  return std::max(own, cudnn_attention_backward(q.shape, program.tensor(op.tensor(S::K)).shape[2]));
}

// One FP64 partial sum for each 65,536 elements of each of the group's tensors.
int64_t gradient_norm(const StepProgram& program, const Op& op) {
  int64_t chunks = 0;
  for (const int index : program.groups[static_cast<size_t>(op.attributes.group)].parameters)
    chunks += (program.parameters[static_cast<size_t>(index)].elements() + 65535) / 65536;
  return chunks * 8;
}

// Split-K partial sums: up to 16 FP32 copies of the result, between 1 MiB (what other kernels keep) and 32
// MiB (cuBLASLt's advice for Hopper and Blackwell).
int64_t gemm(const StepProgram& program, const Op& op) {
  const int out = slot_count(op.kind) - 1;  // the result is each kind's last operand
  const int64_t bytes = 16 * program.tensor(op.tensor(out)).elements() * 4;
  return std::clamp(rounded_up(bytes, 256), int64_t{1} << 20, int64_t{32} << 20);
}

int64_t cuda_workspace(const ExecutionTarget& target, const StepProgram& program, const Op& op) {
  const auto last_dim = [&](int slot) {
    const Shape& shape = program.tensor(op.tensor(slot)).shape;
    return shape[shape.rank - 1];
  };
  switch (op.kind) {
    case OpKind::Linear:
    case OpKind::LinearBackwardInput:
    case OpKind::LinearBackwardWeight:
      return gemm(program, op);
    case OpKind::RmsNormBackward:
      return int64_t{512} * last_dim(slot::RmsNormBackward::X) * 4;  // weight gradients of up to 512 blocks
    case OpKind::QkNormBackward:
      return int64_t{512} * 2 * last_dim(slot::QkNormBackward::Q) * 4;  // the same, of q and k
    case OpKind::Attention:
      return 1024;  // cuDNN's faster forward keeps a counter
    case OpKind::AttentionBackward:
      return attention_backward(target, program, op);
    case OpKind::GradientNorm:
      return gradient_norm(program, op);
    default:
      return 0;
  }
}

}  // namespace

int64_t workspace_bytes(const ExecutionTarget& target, const StepProgram& program, const Op& op) {
  return target.kind == DeviceKind::Cuda ? cuda_workspace(target, program, op) : 0;
}

}  // namespace lathe
