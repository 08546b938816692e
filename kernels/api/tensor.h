// Buffers and tensors of a step program. A buffer has bytes, a role and a lifetime; a tensor is a view of
// one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

enum class DType : uint8_t { F64, F32, BF16, I32, I16, U8 };

int64_t dtype_bytes(DType dtype);
std::string_view dtype_name(DType dtype);

// What a buffer is for: the rows of every memory breakdown.
enum class Role : uint8_t {
  Weight,          // the copy the forward pass reads
  Master,          // what the optimizer adds to, when it isn't the weight itself
  Gradient,        // accumulated over the window
  OptimizerState,  // AdamW's moments and their scales
  Activation,      // kept from forward to backward
  Scratch,         // lives between neighbouring ops; library workspaces too
  Logits,          // a loss chunk's logits, later their gradient in place
  Batch,           // tokens, targets, step scalars
  Metric,          // losses and norms on their way to the host
  KvCache,         // keys and values of a generation
  Table            // constants: RoPE's cosines and sines
};
inline constexpr int kRoleCount = 11;
std::string_view role_name(Role role);

enum class Space : uint8_t { Device, PinnedHost };

enum class Lifetime : uint8_t {
  Run,      // from Preparing to the end of the run; all sequences share it; zeroed by prepare()
  Group,    // across the sequences of one group (the KV cache of prefill and decode)
  Sequence  // between two ops of one sequence; undefined outside
};

using BufferId = int32_t;
using TensorId = int32_t;
inline constexpr int32_t kNone = -1;

// Up to four dimensions, outermost first, row-major unless strides say otherwise.
struct Shape {
  std::array<int64_t, 4> dims{1, 1, 1, 1};
  int rank = 0;

  Shape() = default;
  Shape(std::initializer_list<int64_t> values);
  int64_t operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  int64_t elements() const;
  bool operator==(const Shape&) const = default;
};

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  Role role = Role::Scratch;
  Lifetime lifetime = Lifetime::Sequence;
  Space space = Space::Device;
  int layer = kNone;     // kNone outside the blocks
  int sequence = kNone;  // the sequence it belongs to when lifetime is Sequence
};

struct Tensor {
  std::string name;  // "layer.3.attn.qkv"
  BufferId buffer = kNone;
  int64_t offset_bytes = 0;  // of the first element in its buffer
  DType dtype = DType::F32;
  Shape shape;
  std::array<int64_t, 4> strides{1, 1, 1, 1};  // in elements

  bool contiguous() const;
  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * dtype_bytes(dtype); }  // of a contiguous copy
};

}  // namespace lathe
