// Emits one transformer block: its forward, and its backward through need(), which hands out a saved value or
// replays the op that makes it. A recompute level is nothing but the set of values a block saves.
#pragma once

#include <array>
#include <string>

#include "core/config/run_config.h"
#include "core/program/emitter.h"
#include "core/program/parameter_layout.h"

namespace lathe {

// Values a block computes, in order. R rows, C hidden, W = (H + 2K)·D, F ffn.
enum class BlockValue {
  X,           // [R,C] the residual stream that enters
  AttnNormed,  // [R,C]
  AttnRstd,    // [R]
  Qkv,         // [R,W] rotated unless there is QK-norm
  Qk,          // [R,(H+K)·D] normed and rotated; QK-norm only
  QkRstd,      // [R,H+K]; QK-norm only
  AttnOut,     // [R,H·D]
  Lse,         // [B,H,T]
  Middle,      // [R,C] the residual stream behind attention
  FfnNormed,   // [R,C]
  FfnRstd,     // [R]
  GateUp,      // [R,2F]
  Activated,   // [R,F]
  Out          // [R,C] the residual stream that leaves
};
inline constexpr int kBlockValues = 14;

// Whether a block at this level keeps the value from forward to backward.
bool is_saved(RecomputeLevel level, BlockValue value);

// What all blocks of one sequence share.
struct BlockContext {
  enum class Mode { Train, Evaluate, Prefill, Decode };
  Mode mode = Mode::Train;
  bool accumulate = false;  // gradients are added to, not written
  int64_t batch = 1, context = 1;
  int64_t heads = 1, kv_heads = 1, head_dim = 1, hidden = 1, ffn = 1;
  double norm_eps = 1e-5;
  bool qk_norm = false;
  int64_t rope_context = 1;  // rows of the table
  DType compute = DType::BF16, wide = DType::F32;
  TensorId rope_table = kNone;
  TensorId document_start = kNone;  // kNone: no document mask
  TensorId position = kNone;        // prefill: row 0's position, 0; decode: the token's
  int64_t rows() const { return batch * context; }
};

class Block {
 public:
  Block(Emitter& emitter, const BlockContext& context, const LayerParameters& parameters, int layer,
        RecomputeLevel level);

  // Caches of this layer, [T,K,D] each; prefill and decode only.
  void set_cache(TensorId keys, TensorId values) { cache_k_ = keys, cache_v_ = values; }

  // Emits the forward pass and returns the residual stream that leaves. In training, forgets what the level
  // drops.
  TensorId forward(TensorId x);

  // Emits the backward pass: `d_residual` [R,C] holds the gradient of what left and becomes that of what
  // entered.
  void backward(TensorId d_residual);

 private:
  enum class Stage {
    AttnNorm,
    QkvProjection,
    QkNormRope,
    Attention,
    OutProjection,
    FfnNorm,
    GateUp,
    SwiGlu,
    Down
  };
  struct Heads {
    TensorId q, k, v;
  };

  TensorId& slot(BlockValue value) { return values_[static_cast<size_t>(value)]; }
  bool has(BlockValue value) const { return values_[static_cast<size_t>(value)] != kNone; }
  TensorId need(BlockValue value);
  TensorId make(BlockValue value);  // a fresh tensor for it
  TensorId scratch(const char* name, Shape shape);
  void run(Stage stage);
  int emit(Stage stage, int part, OpKind kind, std::initializer_list<Operand> operands,
           const OpAttributes& attributes = {});
  Heads raw_heads(TensorId qkv);  // q, k, v as the projection leaves them
  Heads attention_heads();        // q, k, v as attention reads them
  void rotate(Stage stage, int part, TensorId q, TensorId k);
  void attend();
  void backward_ffn(TensorId d_residual);
  void backward_attention(TensorId d_residual);
  TensorId weight(int parameter) const;
  Operand gradient(int parameter) const;
  OpAttributes norm_attributes() const;
  std::string name(const char* part) const;

  Emitter& emitter_;
  const BlockContext& context_;
  const LayerParameters& parameters_;
  int layer_;
  RecomputeLevel level_;
  TensorId cache_k_ = kNone, cache_v_ = kNone;
  std::array<TensorId, kBlockValues> values_;
  std::array<std::array<int, 3>, 9> sources_;  // first emission of each stage's parts
};

}  // namespace lathe
