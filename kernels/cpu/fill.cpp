// Fill (out = 0), and the table from op kinds to the families that run them.
#include <cstring>

#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

template <class T>
Kernel fill_rows(const OpBinding& op) {
  const Rows<T> out = op.rows<T>(slot::Fill::Out);
  return [out](Team& team) {
    team.for_ranges(out.count, 64, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        std::memset(out.row(r), 0, static_cast<size_t>(out.cols) * sizeof(T));
      }
    });
  };
}

}  // namespace

Kernel make_fill(const OpBinding& op) {
  switch (op.dtype(slot::Fill::Out)) {
    case DType::F64:
      return fill_rows<double>(op);
    case DType::F32:
      return fill_rows<float>(op);
    case DType::BF16:
      return fill_rows<Bf16>(op);
    case DType::I32:
      return fill_rows<int32_t>(op);
    case DType::I16:
      return fill_rows<int16_t>(op);
    case DType::U8:
      return fill_rows<uint8_t>(op);
  }
  return {};
}

Kernel make_kernel(OpKind kind, const OpBinding& op) {
  using Make = Kernel (*)(const OpBinding&);
  static constexpr Make kMakers[kOpKindCount] = {
      make_fill,
      make_embedding,
      make_embedding_backward,
      make_rms_norm,
      make_rms_norm_backward,
      make_linear,
      make_linear_backward_input,
      make_linear_backward_weight,
      make_qk_norm,
      make_qk_norm_backward,
      make_rope,
      make_rope_backward,
      make_attention,
      make_attention_backward,
      make_swiglu,
      make_swiglu_backward,
      make_classifier_loss,
      make_loss_sum,
      make_gradient_norm,
      make_clip_factor,
      make_adamw,
      make_kv_store,
      make_attention_decode,
      make_gather_row,
  };
  return kMakers[static_cast<size_t>(kind)](op);
}

}  // namespace lathe::cpu
