#include "core/program/block.h"

#include <cmath>

namespace lathe {

bool is_saved(RecomputeLevel level, BlockValue value) {
  switch (value) {
    case BlockValue::X:
      return true;
    case BlockValue::AttnNormed:
    case BlockValue::FfnNormed:
    case BlockValue::Activated:
    case BlockValue::Qk:
      return level < RecomputeLevel::Norms;
    case BlockValue::GateUp:
      return level < RecomputeLevel::GateUp;
    case BlockValue::Qkv:
      return level < RecomputeLevel::Qkv;
    case BlockValue::AttnOut:
    case BlockValue::Lse:
      return level < RecomputeLevel::AttentionFfn;
    case BlockValue::Middle:
    case BlockValue::AttnRstd:
    case BlockValue::FfnRstd:
    case BlockValue::QkRstd:
      return level < RecomputeLevel::Block;
    case BlockValue::Out:
      return false;  // the next block's X
  }
  return false;
}

Block::Block(Emitter& emitter, const BlockContext& context, const LayerParameters& parameters, int layer,
             RecomputeLevel level)
    : emitter_(emitter), context_(context), parameters_(parameters), layer_(layer), level_(level) {
  values_.fill(kNone);
  for (auto& parts : sources_) parts.fill(kNone);
}

std::string Block::name(const char* part) const {
  return "layer." + std::to_string(layer_) + "." + part;
}

TensorId Block::weight(int parameter) const {
  return emitter_.program().parameters[static_cast<size_t>(parameter)].weight;
}

Operand Block::gradient(int parameter) const {
  const TensorId tensor = emitter_.program().parameters[static_cast<size_t>(parameter)].gradient;
  return context_.accumulate ? add(tensor) : write(tensor);
}

OpAttributes Block::norm_attributes() const {
  OpAttributes attributes;
  attributes.eps = context_.norm_eps;
  return attributes;
}

TensorId Block::scratch(const char* part, Shape shape) {
  return emitter_.tensor(name(part), context_.compute, shape, Role::Scratch);
}

TensorId Block::make(BlockValue value) {
  const int64_t rows = context_.rows(), dim = context_.head_dim;
  const int64_t heads = context_.heads, kv = context_.kv_heads;
  struct Form {
    const char* name;
    Shape shape;
    bool wide;
  };
  const auto form = [&]() -> Form {
    switch (value) {
      case BlockValue::X:
        return {"x", {rows, context_.hidden}, false};
      case BlockValue::AttnNormed:
        return {"attn.normed", {rows, context_.hidden}, false};
      case BlockValue::AttnRstd:
        return {"attn.rstd", {rows}, true};
      case BlockValue::Qkv:
        return {"attn.qkv", {rows, (heads + 2 * kv) * dim}, false};
      case BlockValue::Qk:
        return {"attn.qk", {rows, (heads + kv) * dim}, false};
      case BlockValue::QkRstd:
        return {"attn.qk_rstd", {rows, heads + kv}, true};
      case BlockValue::AttnOut:
        return {"attn.out", {rows, heads * dim}, false};
      case BlockValue::Lse:
        return {"attn.lse", {context_.batch, heads, context_.context}, true};
      case BlockValue::Middle:
        return {"middle", {rows, context_.hidden}, false};
      case BlockValue::FfnNormed:
        return {"ffn.normed", {rows, context_.hidden}, false};
      case BlockValue::FfnRstd:
        return {"ffn.rstd", {rows}, true};
      case BlockValue::GateUp:
        return {"ffn.gate_up", {rows, 2 * context_.ffn}, false};
      case BlockValue::Activated:
        return {"ffn.activated", {rows, context_.ffn}, false};
      case BlockValue::Out:
        return {"out", {rows, context_.hidden}, false};
    }
    return {"", {}, false};
  }();
  // What leaves the block is the next one's X, which every level keeps.
  const bool kept = context_.mode == BlockContext::Mode::Train && emitter_.phase() == Phase::Forward &&
                    (value == BlockValue::Out || is_saved(level_, value));
  const TensorId tensor = emitter_.tensor(name(form.name), form.wide ? context_.wide : context_.compute,
                                          form.shape, kept ? Role::Activation : Role::Scratch);
  slot(value) = tensor;
  return tensor;
}

int Block::emit(Stage stage, int part, OpKind kind, std::initializer_list<Operand> operands,
                const OpAttributes& attributes) {
  int& source = sources_[static_cast<size_t>(stage)][static_cast<size_t>(part)];
  const bool replay = emitter_.phase() != Phase::Forward;
  const Phase phase = emitter_.phase();
  if (replay) emitter_.set_phase(Phase::Recompute);
  const int index = emitter_.emit(kind, operands, attributes, replay ? source : kNone);
  emitter_.set_phase(phase);
  if (!replay) source = index;
  return index;
}

Block::Heads Block::raw_heads(TensorId qkv) {
  const int64_t batch = context_.batch, time = context_.context, dim = context_.head_dim;
  const int64_t heads = context_.heads, kv = context_.kv_heads, width = (heads + 2 * kv) * dim;
  const auto part = [&](const char* part_name, int64_t first_head, int64_t count) {
    return emitter_.view(qkv, name(part_name), first_head * dim, {batch, time, count, dim},
                         {time * width, width, dim, 1});
  };
  return {part("attn.q", 0, heads), part("attn.k", heads, kv), part("attn.v", heads + kv, kv)};
}

Block::Heads Block::attention_heads() {
  Heads heads = raw_heads(need(BlockValue::Qkv));
  if (context_.qk_norm) {
    const TensorId qk = need(BlockValue::Qk);
    const int64_t time = context_.context, dim = context_.head_dim;
    const int64_t width = (context_.heads + context_.kv_heads) * dim;
    const std::array<int64_t, 4> strides{time * width, width, dim, 1};
    heads.q =
        emitter_.view(qk, name("attn.q_normed"), 0, {context_.batch, time, context_.heads, dim}, strides);
    heads.k = emitter_.view(qk, name("attn.k_normed"), context_.heads * dim,
                            {context_.batch, time, context_.kv_heads, dim}, strides);
  }
  return heads;
}

void Block::rotate(Stage stage, int part, TensorId q, TensorId k) {
  OpAttributes attributes;
  attributes.context = context_.rope_context;
  const Operand position = context_.mode == BlockContext::Mode::Decode ? read(context_.position) : absent();
  emit(stage, part, OpKind::Rope, {in_place(q), in_place(k), read(context_.rope_table), position},
       attributes);
}

void Block::attend() {
  const Heads heads = attention_heads();
  OpAttributes attributes;
  attributes.scale = 1.0 / std::sqrt(static_cast<double>(context_.head_dim));
  const bool generation =
      context_.mode == BlockContext::Mode::Prefill || context_.mode == BlockContext::Mode::Decode;
  if (generation) {
    emit(Stage::Attention, 0, OpKind::KvStore,
         {read(heads.k), read(heads.v), read(context_.position), add(cache_k_), add(cache_v_)});
  }
  const TensorId out = make(BlockValue::AttnOut);
  const int64_t dim = context_.head_dim, width = context_.heads * dim;
  const TensorId out_heads =
      emitter_.view(out, name("attn.out_heads"), 0, {context_.batch, context_.context, context_.heads, dim},
                    {context_.context * width, width, dim, 1});
  if (context_.mode == BlockContext::Mode::Decode) {
    emit(Stage::Attention, 1, OpKind::AttentionDecode,
         {read(heads.q), read(cache_k_), read(cache_v_), read(context_.position), write(out_heads)},
         attributes);
    return;
  }
  const Operand documents = context_.document_start == kNone ? absent() : read(context_.document_start);
  emit(Stage::Attention, 1, OpKind::Attention,
       {read(heads.q), read(heads.k), read(heads.v), documents, write(out_heads),
        write(make(BlockValue::Lse))},
       attributes);
}

void Block::run(Stage stage) {
  const auto rstd = [&](BlockValue value) { return has(value) ? absent() : write(make(value)); };
  const auto project = [&](BlockValue from, int parameter, BlockValue residual, BlockValue to) {
    const TensorId x = need(from);
    const Operand added = residual == to ? absent() : read(need(residual));
    emit(stage, 0, OpKind::Linear, {read(x), read(weight(parameter)), added, write(make(to))});
  };
  switch (stage) {
    case Stage::AttnNorm: {
      const TensorId x = need(BlockValue::X), y = make(BlockValue::AttnNormed);
      emit(stage, 0, OpKind::RmsNorm,
           {read(x), read(weight(parameters_.attn_norm)), write(y), rstd(BlockValue::AttnRstd)},
           norm_attributes());
      break;
    }
    case Stage::QkvProjection: {
      project(BlockValue::AttnNormed, parameters_.qkv, BlockValue::Qkv, BlockValue::Qkv);
      if (!context_.qk_norm) {
        const Heads heads = raw_heads(slot(BlockValue::Qkv));
        rotate(stage, 1, heads.q, heads.k);
      }
      break;
    }
    case Stage::QkNormRope: {
      const Heads raw = raw_heads(need(BlockValue::Qkv));
      make(BlockValue::Qk);
      const Heads normed = attention_heads();
      emit(stage, 0, OpKind::QkNorm,
           {read(raw.q), read(raw.k), read(weight(parameters_.q_norm)), read(weight(parameters_.k_norm)),
            write(normed.q), write(normed.k), rstd(BlockValue::QkRstd)},
           norm_attributes());
      rotate(stage, 1, normed.q, normed.k);
      break;
    }
    case Stage::Attention:
      attend();
      break;
    case Stage::OutProjection:
      project(BlockValue::AttnOut, parameters_.o, BlockValue::X, BlockValue::Middle);
      break;
    case Stage::FfnNorm: {
      const TensorId x = need(BlockValue::Middle), y = make(BlockValue::FfnNormed);
      emit(stage, 0, OpKind::RmsNorm,
           {read(x), read(weight(parameters_.ffn_norm)), write(y), rstd(BlockValue::FfnRstd)},
           norm_attributes());
      break;
    }
    case Stage::GateUp:
      project(BlockValue::FfnNormed, parameters_.gate_up, BlockValue::GateUp, BlockValue::GateUp);
      break;
    case Stage::SwiGlu: {
      const TensorId gate_up = need(BlockValue::GateUp);
      emit(stage, 0, OpKind::SwiGlu, {read(gate_up), write(make(BlockValue::Activated))});
      break;
    }
    case Stage::Down:
      project(BlockValue::Activated, parameters_.down, BlockValue::Middle, BlockValue::Out);
      break;
  }
}

TensorId Block::need(BlockValue value) {
  if (has(value)) return slot(value);
  switch (value) {
    case BlockValue::X:
      break;  // always saved
    case BlockValue::AttnNormed:
    case BlockValue::AttnRstd:
      run(Stage::AttnNorm);
      break;
    case BlockValue::Qkv:
      run(Stage::QkvProjection);
      break;
    case BlockValue::Qk:
    case BlockValue::QkRstd:
      run(Stage::QkNormRope);
      break;
    case BlockValue::AttnOut:
    case BlockValue::Lse:
      run(Stage::Attention);
      break;
    case BlockValue::Middle:
      run(Stage::OutProjection);
      break;
    case BlockValue::FfnNormed:
    case BlockValue::FfnRstd:
      run(Stage::FfnNorm);
      break;
    case BlockValue::GateUp:
      run(Stage::GateUp);
      break;
    case BlockValue::Activated:
      run(Stage::SwiGlu);
      break;
    case BlockValue::Out:
      run(Stage::Down);
      break;
  }
  return slot(value);
}

TensorId Block::forward(TensorId x) {
  emitter_.set_layer(layer_);
  emitter_.set_phase(Phase::Forward);
  slot(BlockValue::X) = x;
  const TensorId out = need(BlockValue::Out);
  if (context_.mode == BlockContext::Mode::Train) {
    for (int i = 0; i < kBlockValues; ++i) {
      if (!is_saved(level_, static_cast<BlockValue>(i))) values_[static_cast<size_t>(i)] = kNone;
    }
  }
  return out;
}

void Block::backward(TensorId d_residual) {
  emitter_.set_layer(layer_);
  emitter_.set_phase(Phase::Backward);
  backward_ffn(d_residual);
  backward_attention(d_residual);
}

void Block::backward_ffn(TensorId d_residual) {
  const int64_t rows = context_.rows();
  const TensorId d_activated = scratch("ffn.d_activated", {rows, context_.ffn});
  emitter_.emit(OpKind::LinearBackwardInput,
                {read(d_residual), read(weight(parameters_.down)), write(d_activated)});

  // Gate and up become their gradient in place; the fused op emits the activation again where it wasn't
  // saved.
  const TensorId gate_up = need(BlockValue::GateUp);
  const bool replay_activated = !has(BlockValue::Activated);
  const TensorId activated = replay_activated ? make(BlockValue::Activated) : slot(BlockValue::Activated);
  emitter_.emit(OpKind::SwiGluBackward,
                {in_place(gate_up), read(d_activated), replay_activated ? write(activated) : absent()});
  emitter_.emit(OpKind::LinearBackwardWeight,
                {read(d_residual), read(activated), gradient(parameters_.down)});

  const TensorId d_normed = scratch("ffn.d_normed", {rows, context_.hidden});
  emitter_.emit(OpKind::LinearBackwardInput,
                {read(gate_up), read(weight(parameters_.gate_up)), write(d_normed)});
  const TensorId middle = need(BlockValue::Middle), rstd = need(BlockValue::FfnRstd);
  const bool replay_normed = !has(BlockValue::FfnNormed);
  const TensorId normed = replay_normed ? make(BlockValue::FfnNormed) : slot(BlockValue::FfnNormed);
  emitter_.emit(OpKind::RmsNormBackward,
                {read(middle), read(weight(parameters_.ffn_norm)), read(rstd), read(d_normed),
                 add(d_residual), gradient(parameters_.ffn_norm), replay_normed ? write(normed) : absent()},
                norm_attributes());
  emitter_.emit(OpKind::LinearBackwardWeight, {read(gate_up), read(normed), gradient(parameters_.gate_up)});
}

void Block::backward_attention(TensorId d_residual) {
  const int64_t rows = context_.rows(), batch = context_.batch, time = context_.context,
                dim = context_.head_dim;
  const int64_t heads = context_.heads, width = heads * dim;
  const std::array<int64_t, 4> head_strides{time * width, width, dim, 1};
  const Shape head_shape{batch, time, heads, dim};

  const TensorId d_out = scratch("attn.d_out", {rows, width});
  emitter_.emit(OpKind::LinearBackwardInput, {read(d_residual), read(weight(parameters_.o)), write(d_out)});
  const TensorId out = need(BlockValue::AttnOut), lse = need(BlockValue::Lse);
  emitter_.emit(OpKind::LinearBackwardWeight, {read(d_residual), read(out), gradient(parameters_.o)});

  const Heads saved = attention_heads();
  const TensorId d_qkv = scratch("attn.d_qkv", {rows, (heads + 2 * context_.kv_heads) * dim});
  const Heads d = raw_heads(d_qkv);
  OpAttributes attention;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(dim));
  const Operand documents = context_.document_start == kNone ? absent() : read(context_.document_start);
  emitter_.emit(OpKind::AttentionBackward,
                {read(saved.q), read(saved.k), read(saved.v), documents,
                 read(emitter_.view(out, name("attn.out_heads"), 0, head_shape, head_strides)), read(lse),
                 read(emitter_.view(d_out, name("attn.d_out_heads"), 0, head_shape, head_strides)),
                 write(d.q), write(d.k), write(d.v)},
                attention);
  OpAttributes rope;
  rope.context = context_.rope_context;
  emitter_.emit(OpKind::RopeBackward, {in_place(d.q), in_place(d.k), read(context_.rope_table), absent()},
                rope);
  if (context_.qk_norm) {
    const Heads raw = raw_heads(need(BlockValue::Qkv));
    emitter_.emit(OpKind::QkNormBackward,
                  {read(raw.q), read(raw.k), read(weight(parameters_.q_norm)),
                   read(weight(parameters_.k_norm)), read(need(BlockValue::QkRstd)), in_place(d.q),
                   in_place(d.k), gradient(parameters_.q_norm), gradient(parameters_.k_norm)},
                  norm_attributes());
  }

  const TensorId d_normed = scratch("attn.d_normed", {rows, context_.hidden});
  emitter_.emit(OpKind::LinearBackwardInput, {read(d_qkv), read(weight(parameters_.qkv)), write(d_normed)});
  const TensorId rstd = need(BlockValue::AttnRstd);
  const bool replay_normed = !has(BlockValue::AttnNormed);
  const TensorId normed = replay_normed ? make(BlockValue::AttnNormed) : slot(BlockValue::AttnNormed);
  emitter_.emit(OpKind::RmsNormBackward,
                {read(slot(BlockValue::X)), read(weight(parameters_.attn_norm)), read(rstd), read(d_normed),
                 add(d_residual), gradient(parameters_.attn_norm), replay_normed ? write(normed) : absent()},
                norm_attributes());
  emitter_.emit(OpKind::LinearBackwardWeight, {read(d_qkv), read(normed), gradient(parameters_.qkv)});
}

}  // namespace lathe
