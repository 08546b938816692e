#include "core/train/step_io.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace lathe {

void write_step_scalars(const StepProgram& program, Executable& executable, const RunConfig& config,
                        const StepScalars& scalars) {
  std::vector<double> values(kStepScalarCount, 0.0);
  const auto set = [&](StepScalar scalar, double value) { values[static_cast<size_t>(scalar)] = value; };
  const double t = static_cast<double>(scalars.optimizer_step);
  set(StepScalar::InvValidTokens,
      scalars.valid_tokens > 0 ? 1.0 / static_cast<double>(scalars.valid_tokens) : 0.0);
  set(StepScalar::LearningRate, scalars.learning_rate);
  set(StepScalar::BiasCorrection1, 1 - std::pow(config.optimizer.beta1, t));
  set(StepScalar::BiasCorrection2, 1 - std::pow(config.optimizer.beta2, t));
  set(StepScalar::MaxGradNorm, config.optimizer.clip);
  set(StepScalar::MaxAcceptedNorm, scalars.max_accepted_norm);
  const uint64_t mixed = (static_cast<uint64_t>(config.run.seed) << 32) ^ static_cast<uint64_t>(scalars.step);
  const uint64_t bits = mixed * 0x9E3779B97F4A7C15ull;
  set(StepScalar::RandomLow, static_cast<double>((bits >> 16) & 0xFFFFFF));
  set(StepScalar::RandomHigh, static_cast<double>((bits >> 40) & 0xFFFFFF));

  const TensorId id = program.ports.scalars;
  if (program.tensor(id).dtype == DType::F64) {
    executable.write(id, std::as_bytes(std::span(values)));
  } else {
    const std::vector<float> narrow(values.begin(), values.end());
    executable.write(id, std::as_bytes(std::span(narrow)));
  }
}

void write_batch(const StepProgram& program, Executable& executable, const Batch& batch,
                 std::span<const int32_t> token_order) {
  const ProgramPorts& ports = program.ports;
  executable.write(ports.tokens, std::as_bytes(std::span(batch.tokens)));
  executable.write(ports.targets, std::as_bytes(std::span(batch.targets)));
  if (ports.document_start != kNone) {
    executable.write(ports.document_start, std::as_bytes(std::span(batch.document_start)));
  }
  if (!token_order.empty()) executable.write(ports.token_order, std::as_bytes(token_order));
}

Fetch::Fetch(const StepProgram& program, std::vector<TensorId> tensors)
    : program_(program), tensors_(std::move(tensors)) {
  int64_t bytes = 0;
  for (const TensorId id : tensors_) bytes += program.tensor(id).bytes();
  bytes_.resize(static_cast<size_t>(bytes));
}

void Fetch::wait(Executable& executable, Ticket ticket) {
  executable.wait(ticket, bytes_);
}

std::vector<double> Fetch::values(size_t i) const {
  size_t offset = 0;
  for (size_t before = 0; before < i; ++before) {
    offset += static_cast<size_t>(program_.tensor(tensors_[before]).bytes());
  }
  const Tensor& tensor = program_.tensor(tensors_[i]);
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  if (tensor.dtype == DType::F64) {
    std::memcpy(values.data(), bytes_.data() + offset, values.size() * sizeof(double));
    return values;
  }
  std::vector<float> narrow(values.size());
  std::memcpy(narrow.data(), bytes_.data() + offset, narrow.size() * sizeof(float));
  return {narrow.begin(), narrow.end()};
}

}  // namespace lathe
