// What each op family offers: a function that binds an op and returns the closure that runs it. Binding
// throws Error Unsupported for dtypes, shapes or layouts the family can't handle.
#pragma once

#include <functional>

#include "kernels/cpu/op_binding.h"
#include "kernels/cpu/team.h"

namespace lathe::cpu {

using Kernel = std::function<void(Team&)>;

Kernel make_fill(const OpBinding& op);
Kernel make_embedding(const OpBinding& op);
Kernel make_embedding_backward(const OpBinding& op);
Kernel make_rms_norm(const OpBinding& op);
Kernel make_rms_norm_backward(const OpBinding& op);
Kernel make_linear(const OpBinding& op);
Kernel make_linear_backward_input(const OpBinding& op);
Kernel make_linear_backward_weight(const OpBinding& op);
Kernel make_qk_norm(const OpBinding& op);
Kernel make_qk_norm_backward(const OpBinding& op);
Kernel make_rope(const OpBinding& op);
Kernel make_rope_backward(const OpBinding& op);
Kernel make_attention(const OpBinding& op);
Kernel make_attention_backward(const OpBinding& op);
Kernel make_swiglu(const OpBinding& op);
Kernel make_swiglu_backward(const OpBinding& op);
Kernel make_classifier_loss(const OpBinding& op);
Kernel make_loss_sum(const OpBinding& op);
Kernel make_gradient_norm(const OpBinding& op);
Kernel make_clip_factor(const OpBinding& op);
Kernel make_adamw(const OpBinding& op);
Kernel make_kv_store(const OpBinding& op);
Kernel make_attention_decode(const OpBinding& op);
Kernel make_gather_row(const OpBinding& op);

// Dispatches on the op's kind.
Kernel make_kernel(OpKind kind, const OpBinding& op);

}  // namespace lathe::cpu
