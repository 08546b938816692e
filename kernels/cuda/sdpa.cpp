#include "kernels/cuda/sdpa.h"

#include "kernels/api/avoided_versions.h"
#include "kernels/api/error.h"
#include "kernels/cuda/attention_own.h"

namespace lathe::cuda {

namespace {

AttentionShape shape_of(const Binding& b, int q, int k) {
  const Shape &query = b.shape(q), &key = b.shape(k);
  return {query[0], query[1], query[2], key[2], query[3]};
}

SdpaProblem problem_of(const Binding& b, const AttentionShape& shape, bool backward) {
  SdpaProblem p;
  p.backward = backward;
  p.batch = shape.batch;
  p.context = shape.context;
  p.heads = shape.heads;
  p.kv_heads = shape.kv_heads;
  p.head_dim = shape.head_dim;
  p.scale = b.attributes().scale;
  return p;
}

Launch bind_own(const Binding& b, const AttentionShape& shape, KernelSelection& selection) {
  const DType dtype = b.dtype(slot::Attention::Q);
  const AttentionKernel kernel = choose_attention_kernel(shape, dtype);
  std::string key = "own attention " + std::string(dtype_name(dtype));
  for (const int64_t value : {shape.batch, shape.context, shape.heads, shape.kv_heads, shape.head_dim})
    key += ' ' + std::to_string(value);
  selection.choose(key, std::string(attention_kernel_name(kernel)));
  if (b.op().kind == OpKind::Attention) {
    using S = slot::Attention;
    AttentionForwardCall call;
    call.shape = shape;
    call.dtype = dtype;
    call.scale = b.attributes().scale;
    call.q = {b.address(S::Q), b.row_stride(S::Q, 2)};
    call.k = {b.address(S::K), b.row_stride(S::K, 2)};
    call.v = {b.address(S::V), b.row_stride(S::V, 2)};
    call.document_start = b.data<const int32_t>(S::DocumentStart);
    call.o = b.address(S::O);
    call.lse = b.data<float>(S::Lse);
    return [=](cudaStream_t stream) { attention_forward(call, stream, kernel); };
  }
  using S = slot::AttentionBackward;
  AttentionBackwardCall call;
  call.shape = shape;
  call.dtype = dtype;
  call.scale = b.attributes().scale;
  call.q = {b.address(S::Q), b.row_stride(S::Q, 2)};
  call.k = {b.address(S::K), b.row_stride(S::K, 2)};
  call.v = {b.address(S::V), b.row_stride(S::V, 2)};
  call.document_start = b.data<const int32_t>(S::DocumentStart);
  call.o = b.address(S::O);
  call.lse = b.data<const float>(S::Lse);
  call.d_o = b.address(S::DO);
  call.dq = {b.address(S::DQ), b.row_stride(S::DQ, 2)};
  call.dk = {b.address(S::DK), b.row_stride(S::DK, 2)};
  call.dv = {b.address(S::DV), b.row_stride(S::DV, 2)};
  call.workspace = b.workspace();
  b.need_workspace(static_cast<int64_t>(attention_workspace_bytes(shape, dtype)));
  return [=](cudaStream_t stream) { attention_backward(call, stream, kernel); };
}

std::optional<Launch> bind_cudnn(const Binding& b, const AttentionShape& shape, CudnnAttention& cudnn,
                                 KernelSelection& selection) {
  SdpaOperands o;
  o.workspace = b.workspace();
  o.workspace_bytes = b.workspace_bytes();
  if (b.op().kind == OpKind::Attention) {
    using S = slot::Attention;
    SdpaProblem p = problem_of(b, shape, false);
    p.q_stride = b.row_stride(S::Q, 2), p.k_stride = b.row_stride(S::K, 2),
    p.v_stride = b.row_stride(S::V, 2);
    o.q = b.data<std::byte>(S::Q), o.k = b.data<std::byte>(S::K), o.v = b.data<std::byte>(S::V);
    o.o = b.data<std::byte>(S::O), o.lse = b.data<float>(S::Lse);
    return cudnn.prepare(p, o, selection);
  }
  using S = slot::AttentionBackward;
  SdpaProblem p = problem_of(b, shape, true);
  p.q_stride = b.row_stride(S::Q, 2), p.k_stride = b.row_stride(S::K, 2), p.v_stride = b.row_stride(S::V, 2);
  p.dq_stride = b.row_stride(S::DQ, 2), p.dk_stride = b.row_stride(S::DK, 2),
  p.dv_stride = b.row_stride(S::DV, 2);
  o.q = b.data<std::byte>(S::Q), o.k = b.data<std::byte>(S::K), o.v = b.data<std::byte>(S::V);
  o.o = b.data<std::byte>(S::O), o.lse = b.data<float>(S::Lse), o.d_o = b.data<std::byte>(S::DO);
  o.dq = b.data<std::byte>(S::DQ), o.dk = b.data<std::byte>(S::DK), o.dv = b.data<std::byte>(S::DV);
  return cudnn.prepare(p, o, selection);
}

}  // namespace

SdpaLibrary::SdpaLibrary(const std::string& cudnn_version, int compute_capability) {
  const AvoidedVersion* trouble = avoided_version("cudnn", cudnn_version, compute_capability);
  if (cudnn_version != "none" && !(trouble && trouble->unusable)) cudnn_ = std::make_unique<CudnnAttention>();
}

Launch SdpaLibrary::prepare(const Binding& binding, KernelSelection& selection) {
  static_assert(+slot::Attention::Q == +slot::AttentionBackward::Q &&
                +slot::Attention::K == +slot::AttentionBackward::K &&
                +slot::Attention::DocumentStart == +slot::AttentionBackward::DocumentStart);
  const AttentionShape shape = shape_of(binding, slot::Attention::Q, slot::Attention::K);
  // On Hopper the own kernel is the faster deterministic one and needs no T x T workspace (attention_own.h).
  const bool own_is_better =
      choose_attention_kernel(shape, binding.dtype(slot::Attention::Q)) == AttentionKernel::Wgmma;
  const bool for_cudnn = !own_is_better && binding.dtype(slot::Attention::Q) == DType::BF16 &&
                         !binding.has(slot::Attention::DocumentStart);
  if (cudnn_ && for_cudnn) {
    if (const std::optional<Launch> launch = bind_cudnn(binding, shape, *cudnn_, selection)) return *launch;
  }
  return bind_own(binding, shape, selection);
}

}  // namespace lathe::cuda
