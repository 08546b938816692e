#include "core/experiment/device_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/experiment/benchmark.h"
#include "core/platform/process.h"
#include "core/program/memory_plan.h"
#include "kernels/api/cost.h"

namespace lathe {

namespace {

// Sizes large enough to reach the device's rates, on a CPU small enough to take milliseconds.
struct Sizes {
  DType dtype = DType::F32;
  int64_t rows = 256, width = 512;                  // matrix product: [rows, width] x [width, width]
  int64_t context = 256, heads = 4, head_dim = 64;  // attention
  int64_t stream_rows = 1024, stream_width = 2048;  // SwiGLU: 24 MiB
  int repeats = 2;                                  // of the op in its sequence
};

Sizes sizes_of(const ExecutionTarget& target) {
  if (target.kind == DeviceKind::Cpu) return {};
  // SwiGLU moves 384 MiB, several times what an L2 cache holds.
  return {DType::BF16, 8192, 4096, 4096, 16, 112, 8192, 8192, 16};
}

// The three measurements are three sequences of one program.
constexpr SequenceId kMatrix = SequenceId::MicroFirst, kAttention = SequenceId::MicroRest,
                     kStream = SequenceId::Update;

class RatesProgram {
 public:
  RatesProgram(const ExecutionTarget& target, const Sizes& sizes) : target_(target), sizes_(sizes) {
    add_matrix();
    add_attention();
    add_stream();
  }

  const StepProgram& program() const { return program_; }
  // Read before anything wrote them.
  const std::vector<TensorId>& inputs() const { return inputs_; }

 private:
  TensorId add_tensor(DType dtype, const Shape& shape) {
    Tensor tensor;
    tensor.name = fmt::format("tensor {}", program_.tensors.size());
    tensor.buffer = static_cast<BufferId>(program_.buffers.size());
    tensor.dtype = dtype;
    tensor.shape = shape;
    for (int i = shape.rank - 2; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      tensor.strides[at] = tensor.strides[at + 1] * shape[i + 1];
    }
    Buffer buffer;
    buffer.name = tensor.name;
    buffer.bytes = aligned_bytes(tensor.bytes());
    buffer.lifetime = Lifetime::Run;
    program_.buffers.push_back(buffer);
    program_.tensors.push_back(tensor);
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }
  TensorId add_input(const Shape& shape) {
    inputs_.push_back(add_tensor(sizes_.dtype, shape));
    return inputs_.back();
  }
  TensorId add_output(const Shape& shape) { return add_tensor(sizes_.dtype, shape); }

  Op make_op(OpKind kind, const std::vector<TensorId>& reads, const std::vector<TensorId>& writes) {
    Op op;
    op.kind = kind;
    for (const TensorId tensor : reads) op.operands.push_back({tensor, Access::Read});
    for (const TensorId tensor : writes) op.operands.push_back({tensor, Access::Write});
    op.attributes.scale = 1 / std::sqrt(static_cast<double>(sizes_.head_dim));
    if (const int64_t bytes = workspace_bytes(target_, program_, op); bytes > 0)
      op.operands.push_back({add_tensor(DType::U8, Shape{bytes}), Access::Scratch});
    return op;
  }
  void repeat(SequenceId sequence, const std::vector<Op>& ops) {
    std::vector<Op>& all = program_.sequence(sequence).ops;
    for (int i = 0; i < sizes_.repeats; ++i) all.insert(all.end(), ops.begin(), ops.end());
  }

  void add_matrix() {
    const TensorId x = add_input({sizes_.rows, sizes_.width}),
                   weight = add_input({sizes_.width, sizes_.width});
    const TensorId y = add_output({sizes_.rows, sizes_.width});
    repeat(kMatrix, {make_op(OpKind::Linear, {x, weight, kNone}, {y})});
  }
  void add_attention() {
    const Shape shape{1, sizes_.context, sizes_.heads, sizes_.head_dim};
    const TensorId q = add_input(shape), k = add_input(shape), v = add_input(shape), d_o = add_input(shape);
    const TensorId o = add_output(shape), lse = add_tensor(DType::F32, {1, sizes_.heads, sizes_.context});
    const TensorId dq = add_output(shape), dk = add_output(shape), dv = add_output(shape);
    const Op forward = make_op(OpKind::Attention, {q, k, v, kNone}, {o, lse});
    const Op backward = make_op(OpKind::AttentionBackward, {q, k, v, kNone, o, lse, d_o}, {dq, dk, dv});
    repeat(kAttention, {forward, backward});
  }
  void add_stream() {
    const TensorId gate_up = add_input({sizes_.stream_rows, 2 * sizes_.stream_width});
    repeat(kStream,
           {make_op(OpKind::SwiGlu, {gate_up}, {add_output({sizes_.stream_rows, sizes_.stream_width})})});
  }

  ExecutionTarget target_;
  Sizes sizes_;
  StepProgram program_;
  std::vector<TensorId> inputs_;
};

// Random numbers of magnitude 0.5 to 1: on zeros a GPU draws less power and clocks higher.
std::vector<std::byte> random_numbers(DType dtype, int64_t bytes) {
  std::vector<std::byte> numbers(static_cast<size_t>(bytes));
  std::minstd_rand random(1);
  const bool wide = dtype == DType::F32;
  for (size_t at = 0; at + 4 <= numbers.size(); at += 4) {
    // Sign and mantissa at random, exponent that of 0.5; BF16 is the upper half of FP32, two to a word.
    const uint32_t bits = static_cast<uint32_t>(random()) * 2654435761u;
    const uint32_t word = wide ? (bits & 0x807FFFFFu) | 0x3F000000u : (bits & 0x807F807Fu) | 0x3F003F00u;
    std::memcpy(numbers.data() + at, &word, 4);
  }
  return numbers;
}

// Seconds that all ops of a sequence take, one by one: the median of the later half of at least `seconds`.
double sequence_seconds(Executable& executable, SequenceId sequence, double seconds) {
  executable.wait(executable.run(sequence));
  std::vector<double> sums;
  const double end = monotonic_seconds() + seconds;
  do {
    double ms = 0;
    for (const double op : executable.profile(sequence)) ms += op;
    sums.push_back(ms / 1000);
  } while (monotonic_seconds() < end);
  sums.erase(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(sums.size() / 2));
  return median(std::move(sums));
}

struct Work {
  double flops = 0, bytes = 0;
};
Work work_of(const StepProgram& program, SequenceId sequence) {
  Work work;
  for (const Op& op : program.sequence(sequence).ops) {
    const OpCost cost = op_cost(program, op);
    work.flops += cost.executed_flops;
    work.bytes += cost.bytes;
  }
  return work;
}

}  // namespace

DeviceRates measure_rates(Backend& backend, double seconds) {
  const DeviceInfo device = backend.device();
  const Sizes sizes = sizes_of(device.target);
  const RatesProgram source(device.target, sizes);
  const StepProgram& program = source.program();
  const MemoryPlan plan = plan_memory(program);
  const std::unique_ptr<Executable> executable = backend.prepare(program, plan, {});

  DeviceRates result;
  double upload_s = 0, download_s = 0, copied = 0;
  for (const TensorId id : source.inputs()) {
    std::vector<std::byte> numbers = random_numbers(sizes.dtype, program.tensor(id).bytes());
    executable->write(id, numbers);  // once to wake everything up, once timed
    std::vector<std::byte> back(numbers.size());
    executable->read(id, back);
    const double start = monotonic_seconds();
    executable->write(id, numbers);
    executable->read(id, std::span(back).first(4));  // returns when the upload is through
    const double middle = monotonic_seconds();
    executable->read(id, back);
    upload_s += middle - start;
    download_s += monotonic_seconds() - middle;
    copied += static_cast<double>(numbers.size());
  }
  result.to_device_bytes_per_s = copied / upload_s;
  result.to_host_bytes_per_s = copied / download_s;
  result.rates.matrix_flops =
      work_of(program, kMatrix).flops / sequence_seconds(*executable, kMatrix, seconds);
  result.rates.attention_flops =
      work_of(program, kAttention).flops / sequence_seconds(*executable, kAttention, seconds);
  result.rates.memory_bytes =
      work_of(program, kStream).bytes / sequence_seconds(*executable, kStream, seconds);
  result.memory = executable->memory();
  result.matrix_shape = fmt::format("{0} x {1} x {1}, {2}", sizes.rows, sizes.width, dtype_name(sizes.dtype));
  result.attention_shape = fmt::format("forward and backward, context {}, {} heads of {}, {}", sizes.context,
                                       sizes.heads, sizes.head_dim, dtype_name(sizes.dtype));
  return result;
}

}  // namespace lathe
