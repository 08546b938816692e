// A training run as plain data: buffers, tensors, parameter groups, and the op sequences that share them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/op.h"
#include "kernels/api/tensor.h"

namespace lathe {

enum class SequenceId : uint8_t {
  MicroFirst,  // forward and backward of a micro-batch; writes gradients and loss sums
  MicroRest,   // the same, accumulating
  Update,      // norm, clip, AdamW
  Statistics,  // sums of squares of the weights
  Evaluate,    // forward and loss of a micro-batch
  Prefill,     // generation: fills the KV cache from a prompt, logits of its last row
  Decode       // generation: one token more
};
inline constexpr int kSequenceCount = 7;
std::string_view sequence_name(SequenceId id);

struct Sequence {
  std::vector<Op> ops;
  int group = 0;  // sequences of one group share their Lifetime::Group buffers (1: prefill and decode)
};

// One trainable tensor. Its elements stand at `offset` of each of its group's buffers.
struct Parameter {
  std::string name;  // "layer.3.attn.qkv.weight"
  Shape shape;
  int group = kNone;
  int64_t offset = 0;  // in elements; a multiple of kParameterAlignment
  TensorId weight = kNone;
  TensorId gradient = kNone;
  double init_std = 0;  // normal(0, std); norms start at one (init_std = 0, init_one)
  bool init_one = false;
  int64_t valid_rows = 0;  // rows beyond it are vocabulary padding: zero for ever; 0 = all

  int64_t elements() const { return shape.elements(); }
};
inline constexpr int64_t kParameterAlignment = 256;  // blocks of 8-bit states never straddle tensors

// Parameters with one update rule, contiguous in every buffer: one launch, one checkpoint section.
struct ParameterGroup {
  std::string name;
  double lr_factor = 1;
  double weight_decay = 0;
  int64_t elements = 0;         // padding included
  std::vector<int> parameters;  // indices, by offset
  // 1-D tensors over the whole group; kNone where the group has none.
  TensorId weight = kNone, master = kNone, gradient = kNone;
  TensorId m = kNone, v = kNone, m_scale = kNone, v_scale = kNone;
};

// Tensors the host writes or reads by role rather than by name. kNone where the program has none.
struct ProgramPorts {
  TensorId tokens = kNone;              // I32 [B,T]
  TensorId targets = kNone;             // I32 [B,T], negative = not counted
  TensorId document_start = kNone;      // I32 [B,T], with a document mask
  TensorId token_order = kNone;         // I32 [B*T]: rows sorted by token, then by row
  TensorId scalars = kNone;             // wide [kStepScalarCount]
  TensorId rope_table = kNone;          // wide [T,D]
  TensorId loss_sums = kNone;           // wide [2]: loss and z-loss, summed over the window's tokens
  TensorId eval_sums = kNone;           // wide [2]: of one Evaluate run
  TensorId square_sums = kNone;         // wide [parameters]
  TensorId clip = kNone;                // wide [4]
  TensorId weight_square_sums = kNone;  // wide [parameters], by Statistics
  TensorId prompt = kNone;              // I32 [T] (prefill)
  TensorId next_token = kNone;          // I32 [1] (decode)
  TensorId position = kNone;  // I32 [1]: prefill: last row of the prompt; decode: position of next_token
  TensorId logits = kNone;    // float [1,V] of prefill and decode
};

struct StepProgram {
  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors;
  std::vector<Parameter> parameters;
  std::vector<ParameterGroup> groups;
  std::array<Sequence, kSequenceCount> sequences;
  ProgramPorts ports;

  const Sequence& sequence(SequenceId id) const { return sequences[static_cast<size_t>(id)]; }
  Sequence& sequence(SequenceId id) { return sequences[static_cast<size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  const Buffer& buffer_of(TensorId id) const {
    return buffers[static_cast<size_t>(tensors[static_cast<size_t>(id)].buffer)];
  }
};

// "layer 3 attention backward" for messages and profiles.
std::string describe(const Op& op);

// Names of the operands' tensors with shapes, for error texts.
std::string describe_operands(const StepProgram& program, const Op& op);

// Where every buffer lies: the estimate and the allocation in one.
struct MemoryPlan {
  std::vector<int64_t> offsets;  // by BufferId, from the start of the arena; multiples of kBufferAlignment
  int64_t arena_bytes = 0;       // exactly what a backend allocates
  int64_t persistent_bytes = 0;  // [0, persistent_bytes) holds Lifetime::Run
};
inline constexpr int64_t kBufferAlignment = 256;

}  // namespace lathe
