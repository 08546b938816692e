// Ops of a step program: a kind, operands with access modes, static attributes, and where the op belongs.
//
// Shapes below: R rows (tokens of the micro-batch, batch*context), C hidden, F ffn, H query heads, K
// key/value heads, D head dim, V vocabulary padded, T context, B micro-batch. "float" is the program's
// compute dtype (FP32, BF16 or FP64); "wide" is FP32, or FP64 in an FP64 program. Every kind reads with FP32
// (or FP64) accumulation and rounds once where it writes. What changes from step to step is data in tensors,
// never an attribute.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/api/tensor.h"

namespace lathe {

enum class OpKind : uint8_t {
  Fill,                  // out = 0
  Embedding,             // y[r] = weight[tokens[r]]
  EmbeddingBackward,     // d_weight[tokens[r]] += dy[r], deterministic (rows of one token summed in order, in
                         // wide)
  RmsNorm,               // rstd = 1/sqrt(mean(x²)+eps), y = x * rstd * weight
  RmsNormBackward,       // d_residual += dx of the norm; d_weight; optionally emits y again
  Linear,                // y = x · weightᵀ (+ residual)
  LinearBackwardInput,   // dx = dy · weight
  LinearBackwardWeight,  // d_weight (+)= dyᵀ · x
  QkNorm,                // RMSNorm over each head of q and k: y = norm(x) * weight
  QkNormBackward,        // its backward
  Rope,                  // rotates q and k in place by split halves
  RopeBackward,          // rotates gradients back, in place
  Attention,             // causal grouped-query attention, o and logsumexp
  AttentionBackward,     // dq, dk, dv
  SwiGlu,                // y = silu(gate) * up
  SwiGluBackward,        // gate_up := d_gate_up in place; optionally emits y again
  ClassifierLoss,        // per-token loss; logits := d_logits in place when backward is asked for
  LossSum,               // adds the per-token losses into the window's sums
  GradientNorm,          // sum of squares of each tensor of a parameter group
  ClipFactor,            // global norm, clip factor, non-finite flag
  AdamW,                 // one update of one parameter group
  KvStore,               // copies new keys and values into the cache at a position
  AttentionDecode,       // one query row against the cache
  GatherRow              // y = x[index]
};
inline constexpr int kOpKindCount = 24;
std::string_view op_kind_name(OpKind kind);

enum class Access : uint8_t {
  Read,
  Write,       // every element is overwritten
  Accumulate,  // out += result
  InPlace,     // read, then overwritten
  Scratch      // written and read inside the op only
};

struct Operand {
  TensorId tensor = kNone;  // kNone: optional and absent
  Access access = Access::Read;
};

// Operand order of each kind: op.tensor(slot::Linear::Weight). A planned workspace, where the target needs
// one, is one operand more, the last, with Access::Scratch. "|" separates operands; modes other than Read are
// named.
// clang-format off
namespace slot {
// any dtype, Write
struct Fill { enum : int { Out }; };
// I32 [R] | float [V,C] | float [R,C] Write
struct Embedding { enum : int { Tokens, Weight, Y }; };
// I32 [R] | I32 [R]: rows sorted by token, then by row | float [R,C] | gradient dtype [V,C] Accumulate
struct EmbeddingBackward { enum : int { Tokens, Order, Dy, DWeight }; };
// float [R,C] | wide [C] | float [R,C] Write | wide [R] Write, optional
struct RmsNorm { enum : int { X, Weight, Y, Rstd }; };
// float [R,C] | wide [C] | wide [R] | float [R,C] | float [R,C] Write (dx) or Accumulate (d_residual + dx, rounded once)
// | wide [C] Write or Accumulate | float [R,C] Write, optional: the forward's y again, same bits
struct RmsNormBackward { enum : int { X, Weight, Rstd, Dy, DResidual, DWeight, Y }; };
// float [R,in] | float [out,in] | float [R,out] optional: added before the one rounding | float [R,out] Write
struct Linear { enum : int { X, Weight, Residual, Y }; };
// float [R,out] | float [out,in] | float [R,in] Write
struct LinearBackwardInput { enum : int { Dy, Weight, Dx }; };
// float [R,out] | float [R,in] | gradient dtype [out,in] Write or Accumulate (into BF16 a backend may round the product
// before it adds it)
struct LinearBackwardWeight { enum : int { Dy, X, DWeight }; };
// float [R,H,D] view | float [R,K,D] view | wide [D] | wide [D] | float [R,H,D] Write | float [R,K,D] Write | wide [R,H+K]
// Write, optional
struct QkNorm { enum : int { Q, K, QWeight, KWeight, YQ, YK, Rstd }; };
// as QkNorm's inputs and Rstd | dYQ, dYK InPlace: become dq, dk | wide [D] twice, Write or Accumulate
struct QkNormBackward { enum : int { Q, K, QWeight, KWeight, Rstd, DYQ, DYK, DQWeight, DKWeight }; };
// float [R,H,D] view InPlace | float [R,K,D] view InPlace | wide [T,D]: D/2 cosines, then D/2 sines a position | I32 [1]
// optional: the position of row 0 (decode); without it row r stands at r mod T. Both directions.
struct Rope { enum : int { Q, K, Table, Position }; };
// float [B,T,H,D] view | float [B,T,K,D] views | I32 [B,T] optional: query t sees keys DocumentStart[b,t]..t |
// float [B,T,H,D] Write | wide [B,H,T] Write: natural logarithm of sum exp(scale q·k)
struct Attention { enum : int { Q, K, V, DocumentStart, O, Lse }; };
// as Attention | dO | dQ, dK, dV views, Write
struct AttentionBackward { enum : int { Q, K, V, DocumentStart, O, Lse, DO, DQ, DK, DV }; };
// float [R,2F]: gate, then up | float [R,F] Write
struct SwiGlu { enum : int { GateUp, Y }; };
// float [R,2F] InPlace: becomes its gradient | float [R,F] | float [R,F] Write, optional: the forward's y again, same bits
struct SwiGluBackward { enum : int { GateUp, Dy, Y }; };
// float [R,V]: Read (evaluation) or InPlace (becomes its gradient, scaled by InvValidTokens) | I32 [R], negative = not
// counted | wide [kStepScalarCount] | wide [R] Write, 0 where not counted | wide [R] Write, optional: z_loss·logsumexp²
struct ClassifierLoss { enum : int { Logits, Targets, Scalars, Losses, ZLosses }; };
// wide [R] | wide [R] optional | wide [2]: loss, z-loss; Write or Accumulate
struct LossSum { enum : int { Losses, ZLosses, Sums }; };
// any float dtype [elements]: a group's gradients, or its weights | wide [parameters] Accumulate in the sense that entry p is overwritten for
// each parameter p of the group and no other is touched
struct GradientNorm { enum : int { Gradient, SquareSums }; };
// wide [parameters] | wide [2]: the window's LossSum | wide [kStepScalarCount] | wide [4] Write: ClipResult
struct ClipFactor { enum : int { SquareSums, Sums, Scalars, Result }; };
// All [elements] over one padded group: gradient | float weight, Write with an F32 master, else InPlace | master InPlace,
// optional: F32, or I16 remainder of a split master | M, V InPlace: F32, BF16 or U8 codes | MScale, VScale F32
// [elements/256] InPlace, with U8 | wide [kStepScalarCount] | wide [4]: ClipFactor's Result
struct AdamW { enum : int { Gradient, Weight, Master, M, V, MScale, VScale, Scalars, Clip }; };
// float [rows,K,D] views | I32 [1]: cache row of the first | float [T,K,D] Accumulate: only those rows are written
struct KvStore { enum : int { K, V, Position, CacheK, CacheV }; };
// float [1,H,D] view | float [T,K,D] twice | I32 [1]: keys 0..position are seen | float [1,H,D] Write
struct AttentionDecode { enum : int { Q, CacheK, CacheV, Position, O }; };
// float [R,C] | I32 [1] | float [1,C] Write
struct GatherRow { enum : int { X, Index, Y }; };
}  // namespace slot
// clang-format on

// Entries of the tensor "step.scalars" (wide [kStepScalarCount]), uploaded before the sequence that reads
// them.
enum class StepScalar : int {
  InvValidTokens,   // 1 / valid tokens of the whole accumulation window
  LearningRate,     // before a group's factor
  BiasCorrection1,  // 1 - beta1^t
  BiasCorrection2,  // 1 - beta2^t
  MaxGradNorm,      // clip threshold; 0 = off
  MaxAcceptedNorm,  // norms above it skip the update (guard); 0 = no limit
  RandomLow,        // seed of stochastic rounding, 24 bits each
  RandomHigh
};
inline constexpr int kStepScalarCount = 8;

// Entries of clip_factor's Result.
enum class ClipResult : int {
  GradNorm,
  Factor,
  Skip,
  Reserved
};  // Factor: 0 when the norm isn't finite. Skip: 1 = the update left everything untouched

enum class Phase : uint8_t { Forward, Recompute, Backward, Update };
std::string_view phase_name(Phase phase);

// Static facts of an op; a kind reads the few that concern it.
struct OpAttributes {
  double eps = 0;     // norms, AdamW
  double scale = 0;   // attention: 1/sqrt(D)
  double z_loss = 0;  // classifier
  double beta1 = 0, beta2 = 0;
  double lr_factor = 1, weight_decay = 0;  // of a parameter group
  int64_t valid_vocab = 0;  // classifier: columns from here on are padding: masked, their gradient 0
  int64_t context = 0;      // RoPE: T
  int group = kNone;        // GradientNorm, AdamW: index into StepProgram::groups
};

struct Op {
  OpKind kind = OpKind::Fill;
  std::vector<Operand> operands;
  OpAttributes attributes;
  int layer = kNone;
  Phase phase = Phase::Forward;
  int stream = 0;      // 0: compute; copies and collectives run on streams of their own
  int source = kNone;  // the op of the same sequence that this one replays (phase Recompute)

  TensorId tensor(int slot) const {
    return static_cast<size_t>(slot) < operands.size() ? operands[static_cast<size_t>(slot)].tensor : kNone;
  }
  Access access(int slot) const { return operands[static_cast<size_t>(slot)].access; }
};

// Number of operand slots of a kind, workspace not counted.
int slot_count(OpKind kind);

}  // namespace lathe
