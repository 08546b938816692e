#include "core/train/model_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <thread>

#include "core/platform/hash.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"
#include "kernels/api/numerics.h"

namespace lathe {

namespace {

constexpr int64_t kPieceBytes = int64_t{16} << 20;

// Two normal values for each counter: Philox words to uniforms, then Box and Muller (1958).
void normal_pair(uint64_t key, uint64_t counter, double& first, double& second) {
  const PhiloxBlock block =
      philox4x32(PhiloxBlock{{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}},
                 static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
  const auto uniform = [&](int i) {  // in (0, 1]
    const uint64_t bits = (uint64_t{block.words[i]} << 32) | block.words[i + 1];
    return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
  };
  const double radius = std::sqrt(-2 * std::log(uniform(0))), angle = 2 * std::numbers::pi * uniform(2);
  first = radius * std::cos(angle);
  second = radius * std::sin(angle);
}

void fill_normal(std::span<float> values, uint64_t key, int64_t first_index, double std_dev) {
  // first_index is even, as pieces are.
  for (size_t i = 0; i < values.size(); i += 2) {
    double a = 0, b = 0;
    normal_pair(key, static_cast<uint64_t>(first_index) / 2 + i / 2, a, b);
    values[i] = static_cast<float>(a * std_dev);
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(b * std_dev);
  }
}

void fill_normal_parallel(std::span<float> values, uint64_t key, int64_t first_index, double std_dev) {
  const size_t threads = std::min<size_t>(static_cast<size_t>(logical_cores()), values.size() / 4096 + 1);
  const size_t share = (values.size() / threads + 2) / 2 * 2;
  std::vector<std::jthread> workers;
  for (size_t begin = 0; begin < values.size(); begin += share) {
    const auto part = values.subspan(begin, std::min(share, values.size() - begin));
    workers.emplace_back([=] { fill_normal(part, key, first_index + static_cast<int64_t>(begin), std_dev); });
  }
}

template <typename T>
void write_values(Executable& executable, TensorId tensor, const std::vector<T>& values, int64_t first) {
  executable.write(tensor, std::as_bytes(std::span(values)), first * static_cast<int64_t>(sizeof(T)));
}

// Writes `values` as elements [first, first + n) of a parameter group's weight and master.
void write_weights(const StepProgram& program, Executable& executable, const ParameterGroup& group,
                   std::span<const float> values, int64_t first) {
  const DType weight = program.tensor(group.weight).dtype;
  const size_t count = values.size();
  if (weight == DType::F64) {
    write_values(executable, group.weight, std::vector<double>(values.begin(), values.end()), first);
  } else if (weight == DType::F32) {
    write_values(executable, group.weight, std::vector<float>(values.begin(), values.end()), first);
  } else {
    std::vector<Bf16> rounded(count);
    for (size_t i = 0; i < count; ++i) rounded[i] = to_bf16_ties_away(values[i]);
    write_values(executable, group.weight, rounded, first);
  }
  if (group.master == kNone) return;
  if (program.tensor(group.master).dtype == DType::F32) {
    write_values(executable, group.master, std::vector<float>(values.begin(), values.end()), first);
  } else {
    std::vector<int16_t> remainders(count);
    for (size_t i = 0; i < count; ++i) remainders[i] = split_remainder(values[i]);
    write_values(executable, group.master, remainders, first);
  }
}

template <typename T>
std::vector<T> read_values(Executable& executable, TensorId tensor, int64_t first, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  executable.read(tensor, std::as_writable_bytes(std::span(values)), first * static_cast<int64_t>(sizeof(T)));
  return values;
}

}  // namespace

void initialise_weights(const StepProgram& program, Executable& executable, int64_t seed) {
  constexpr int64_t kPiece = kPieceBytes / 4;
  std::vector<float> values;
  for (const Parameter& parameter : program.parameters) {
    const ParameterGroup& group = program.groups[static_cast<size_t>(parameter.group)];
    const uint64_t key = hash64(parameter.name, static_cast<uint64_t>(seed));
    const int64_t elements = parameter.elements();
    const int64_t valid = parameter.valid_rows > 0 ? parameter.valid_rows * parameter.shape[1] : elements;
    for (int64_t first = 0; first < elements; first += kPiece) {
      values.resize(static_cast<size_t>(std::min(kPiece, elements - first)));
      if (parameter.init_one) {
        std::fill(values.begin(), values.end(), 1.0f);
      } else {
        fill_normal_parallel(values, key, first, parameter.init_std);
        const int64_t kept = std::clamp<int64_t>(valid - first, 0, static_cast<int64_t>(values.size()));
        std::fill(values.begin() + kept, values.end(), 0.0f);
      }
      write_weights(program, executable, group, values, parameter.offset + first);
    }
  }
}

void write_constants(const StepProgram& program, Executable& executable, double rope_theta) {
  const TensorId id = program.ports.rope_table;
  if (id == kNone) return;
  const Tensor& table = program.tensor(id);
  const int64_t positions = table.shape[0], dim = table.shape[1];
  std::vector<double> values(static_cast<size_t>(positions * dim));
  for (int64_t i = 0; i < dim / 2; ++i) {
    const double frequency = std::pow(rope_theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
    for (int64_t position = 0; position < positions; ++position) {
      const double angle = static_cast<double>(position) * frequency;
      values[static_cast<size_t>(position * dim + i)] = std::cos(angle);
      values[static_cast<size_t>(position * dim + dim / 2 + i)] = std::sin(angle);
    }
  }
  if (table.dtype == DType::F64) {
    write_values(executable, id, values, 0);
  } else {
    write_values(executable, id, std::vector<float>(values.begin(), values.end()), 0);
  }
}

std::vector<TensorId> saved_tensors(const StepProgram& program) {
  std::vector<TensorId> tensors;
  for (const ParameterGroup& group : program.groups) {
    for (const TensorId id : {group.weight, group.master, group.m, group.v, group.m_scale, group.v_scale}) {
      if (id != kNone) tensors.push_back(id);
    }
  }
  return tensors;
}

void read_pieces(const StepProgram& program, Executable& executable, TensorId tensor,
                 const std::function<void(std::span<const std::byte>)>& sink) {
  const int64_t bytes = program.tensor(tensor).bytes();
  std::vector<std::byte> piece(static_cast<size_t>(std::min(bytes, kPieceBytes)));
  for (int64_t offset = 0; offset < bytes; offset += kPieceBytes) {
    const auto part = std::span(piece).first(static_cast<size_t>(std::min(kPieceBytes, bytes - offset)));
    executable.read(tensor, part, offset);
    sink(part);
  }
}

std::vector<float> parameter_values(const StepProgram& program, Executable& executable,
                                    const Parameter& parameter) {
  const ParameterGroup& group = program.groups[static_cast<size_t>(parameter.group)];
  const int64_t first = parameter.offset, count = parameter.elements();
  const DType weight = program.tensor(group.weight).dtype;
  if (weight == DType::F64) {
    const auto values = read_values<double>(executable, group.weight, first, count);
    return {values.begin(), values.end()};
  }
  if (weight == DType::F32) return read_values<float>(executable, group.weight, first, count);
  if (group.master != kNone && program.tensor(group.master).dtype == DType::F32) {
    return read_values<float>(executable, group.master, first, count);
  }
  const auto rounded = read_values<Bf16>(executable, group.weight, first, count);
  std::vector<float> values(rounded.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = to_float(rounded[i]);
  if (group.master != kNone) {
    const auto remainders = read_values<int16_t>(executable, group.master, first, count);
    for (size_t i = 0; i < values.size(); ++i) values[i] = join_master(rounded[i], remainders[i]);
  }
  return values;
}

void set_parameter_values(const StepProgram& program, Executable& executable, const Parameter& parameter,
                          std::span<const float> values) {
  if (static_cast<int64_t>(values.size()) != parameter.elements()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} has {} values, {} were given.", parameter.name,
                                                        parameter.elements(), values.size()));
  }
  write_weights(program, executable, program.groups[static_cast<size_t>(parameter.group)], values,
                parameter.offset);
}

}  // namespace lathe
