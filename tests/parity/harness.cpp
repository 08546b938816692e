#include "tests/parity/harness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/parity/reference.h"

namespace lathe::test {

namespace {

using Image = std::vector<std::byte>;
constexpr std::byte kPattern{0xa5};  // guards and gaps
constexpr std::byte kPoison{0xff};   // NaN in every floating-point format

// Calls visit(element, byte position in its buffer) for each element in logical order.
template <class Visit>
void for_each_element(const Tensor& tensor, const Visit& visit) {
  const auto& [dims, rank] = tensor.shape;
  std::array<int64_t, 4> index{};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) {
      offset += index[static_cast<size_t>(d)] * tensor.strides[static_cast<size_t>(d)];
    }
    visit(static_cast<size_t>(i),
          static_cast<size_t>(tensor.offset_bytes + offset * dtype_bytes(tensor.dtype)));
    for (int d = rank - 1; d >= 0 && ++index[static_cast<size_t>(d)] == dims[static_cast<size_t>(d)]; --d) {
      index[static_cast<size_t>(d)] = 0;
    }
  }
}

std::vector<Image> initial_images(const OpCase& test, const OpProgram& op) {
  std::vector<Image> images;
  for (const Buffer& buffer : op.program.buffers) {
    images.emplace_back(static_cast<size_t>(buffer.bytes), kPattern);
  }
  for (const Operand& operand : op.op().operands) {
    if (operand.tensor == kNone) continue;
    const Tensor& tensor = op.program.tensor(operand.tensor);
    const auto id = static_cast<size_t>(operand.tensor);
    const bool has_values = id < test.inputs.size() && !test.inputs[id].empty();
    Image& image = images[static_cast<size_t>(tensor.buffer)];
    for_each_element(tensor, [&](size_t i, size_t at) {
      if (has_values) return store_element(&image[at], tensor.dtype, test.inputs[id][i]);
      std::fill_n(&image[at], dtype_bytes(tensor.dtype), kPoison);
    });
  }
  return images;
}

std::vector<double> decoded(const Tensor& tensor, const std::vector<Image>& images) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  for_each_element(tensor, [&](size_t i, size_t at) {
    values[i] = load_element(&images[static_cast<size_t>(tensor.buffer)][at], tensor.dtype);
  });
  return values;
}

// ||result - expected|| / ||expected||; equal elements, infinities too, count nothing; NaN when one side has
// a NaN.
double relative_error(const std::vector<double>& result, const std::vector<double>& expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (result[i] == expected[i]) {
      if (std::isfinite(expected[i])) norm += expected[i] * expected[i];
      continue;
    }
    difference += std::pow(result[i] - expected[i], 2);
    norm += expected[i] * expected[i];
  }
  if (difference == 0) return 0;
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

double bound_of(const OpCase& test, const Tensor& tensor, const ParityOptions& options) {
  const OpKind kind = test.op.op().kind;
  if (kind == OpKind::Fill || kind == OpKind::Embedding || kind == OpKind::KvStore ||
      kind == OpKind::GatherRow) {
    return 0;
  }
  if (tensor.dtype == DType::F64) return 1e-12;
  if (tensor.dtype != DType::BF16) return 1e-5;
  const bool weight =
      kind == OpKind::AdamW && &tensor == &test.op.program.tensor(test.op.op().tensor(slot::AdamW::Weight));
  // The reference rounds a BF16 weight as the op must, so only values within FP32 error of a boundary differ.
  if (weight) return 1e-3;
  const bool attention = kind == OpKind::Attention || kind == OpKind::AttentionBackward;
  const bool accumulates = kind == OpKind::LinearBackwardWeight &&
                           test.op.op().access(slot::LinearBackwardWeight::DWeight) == Access::Accumulate;
  const int roundings =
      1 + (attention ? options.attention_roundings : 0) + (accumulates ? options.accumulate_roundings : 0);
  return roundings * std::exp2(tensor.elements() >= 4096 ? -9 : -8) + 1e-5;
}

// 8-bit codes may differ by one where FP32 puts a value on the other side of a midpoint: at most one in 500,
// or one.
double code_error_ratio(const std::vector<double>& result, const std::vector<double>& expected) {
  int64_t different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(result[i] - expected[i]) > 1) return std::numeric_limits<double>::infinity();
    if (result[i] != expected[i]) ++different;
  }
  return static_cast<double>(different) / std::max(1.0, static_cast<double>(expected.size()) / 500);
}

// A remainder means something only together with its weight.
std::vector<double> joined(const std::vector<double>& weights, const std::vector<double>& remainders) {
  std::vector<double> masters;
  for (size_t i = 0; i < weights.size(); ++i) {
    masters.push_back(static_cast<double>(
        join_master(to_bf16(static_cast<float>(weights[i])), static_cast<int16_t>(remainders[i]))));
  }
  return masters;
}

// Error divided by bound; above 1 (or NaN) is a failure.
double error_ratio(const OpCase& test, const Operand& operand, const std::vector<Image>& images,
                   const Values& expected, const ParityOptions& options) {
  const StepProgram& program = test.op.program;
  const Tensor& tensor = program.tensor(operand.tensor);
  const std::vector<double> result = decoded(tensor, images);
  const std::vector<double>& wanted = expected[static_cast<size_t>(operand.tensor)];
  if (tensor.dtype == DType::U8) return code_error_ratio(result, wanted);
  if (tensor.dtype == DType::I16) {
    const TensorId weight = test.op.op().tensor(slot::AdamW::Weight);
    return relative_error(joined(decoded(program.tensor(weight), images), result),
                          joined(expected[static_cast<size_t>(weight)], wanted)) /
           1e-6;
  }
  const double error = relative_error(result, wanted), bound = bound_of(test, tensor, options);
  return bound > 0 ? error / bound : error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

// The first byte outside of what the op may write that isn't as before; empty when there is none.
std::string touched_byte(const OpProgram& op, const std::vector<Image>& before,
                         const std::vector<Image>& after) {
  std::vector<std::vector<bool>> writable;
  for (const Image& image : before) writable.emplace_back(image.size());
  for (const Operand& operand : op.op().operands) {
    if (operand.tensor == kNone || operand.access == Access::Read) continue;
    const Tensor& tensor = op.program.tensor(operand.tensor);
    for_each_element(tensor, [&](size_t, size_t at) {
      for (int64_t b = 0; b < dtype_bytes(tensor.dtype); ++b) {
        writable[static_cast<size_t>(tensor.buffer)][at + static_cast<size_t>(b)] = true;
      }
    });
  }
  for (size_t buffer = 0; buffer < before.size(); ++buffer) {
    for (size_t i = 0; i < before[buffer].size(); ++i) {
      if (!writable[buffer][i] && before[buffer][i] != after[buffer][i]) {
        return "byte " + std::to_string(i) + " of " + op.program.buffers[buffer].name + " was overwritten";
      }
    }
  }
  return {};
}

OpProgram with_workspace(const OpCase& test, const Backend& backend) {
  OpProgram op = test.op;
  op.add_workspace(backend.device().target);
  return op;
}

std::vector<Image> run_images(Executable& executable, const OpProgram& op, const std::vector<Image>& images) {
  for (size_t i = 0; i < images.size(); ++i) executable.write(op.image(static_cast<BufferId>(i)), images[i]);
  executable.wait(executable.run(OpProgram::kSequence));
  std::vector<Image> after = images;
  for (size_t i = 0; i < after.size(); ++i) executable.read(op.image(static_cast<BufferId>(i)), after[i]);
  return after;
}

}  // namespace

std::vector<Image> run_case(Backend& backend, const OpCase& test, const PrepareOptions& options) {
  const OpProgram op = with_workspace(test, backend);
  const MemoryPlan plan = op.plan();
  const auto executable = backend.prepare(op.program, plan, options);
  return run_images(*executable, op, initial_images(test, op));
}

ParityReport run_parity(Backend& backend, const OpCase& test, const ParityOptions& options) {
  ParityReport report;
  const OpProgram op = with_workspace(test, backend);
  const std::vector<std::string> refusals = backend.refusals(op.program);
  if (!refusals.empty()) {
    report.refusal = test.name + ": " + refusals.front();
    return report;
  }
  const MemoryPlan plan = op.plan();
  const auto executable = backend.prepare(op.program, plan, options.prepare);
  const std::vector<Image> before = initial_images(test, op);
  const std::vector<Image> after = run_images(*executable, op, before);

  Values expected = test.inputs;
  expected.resize(test.op.program.tensors.size());
  reference_op(test.op.program, test.op.op(), expected);
  for (size_t slot = 0; slot < test.op.op().operands.size(); ++slot) {
    const Operand& operand = test.op.op().operands[slot];
    if (operand.tensor == kNone || operand.access == Access::Read) continue;
    const double ratio = error_ratio(test, operand, after, expected, options);
    report.worst_ratio = std::max(report.worst_ratio, ratio);
    if (!(ratio <= 1)) {
      report.failure += test.name + ": operand " + std::to_string(slot) + " errs by " +
                        std::to_string(ratio) + " times its bound\n";
    }
  }
  const std::string touched = touched_byte(op, before, after);
  if (!touched.empty()) report.failure += test.name + ": " + touched + "\n";
  if (run_images(*executable, op, before) != after) {
    report.failure += test.name + ": a second run gave other bits\n";
  }
  return report;
}

}  // namespace lathe::test
