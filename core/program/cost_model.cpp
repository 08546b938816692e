#include "core/program/cost_model.h"

#include <algorithm>

namespace lathe {

GpuRates typical_rates(const GpuEntry& gpu) {
  GpuRates rates;
  rates.matrix_flops = 0.78 * gpu.bf16_tflops * 1e12;
  rates.attention_flops = 0.50 * gpu.bf16_tflops * 1e12;
  rates.memory_bytes = 0.85 * gpu.memory_gb_per_s * 1e9;
  rates.launch_s = 2e-6;
  return rates;
}

CostModel::CostModel(const GpuEntry* gpu, Calibration calibration) : calibration_(std::move(calibration)) {
  if (gpu) rates_ = typical_rates(*gpu);
}

double CostModel::rate_seconds(const OpCost& cost) const {
  const double flops = cost.unit == Unit::Attention ? rates_.attention_flops : rates_.matrix_flops;
  const double compute = flops > 0 ? cost.executed_flops / flops : 0;
  const double memory = rates_.memory_bytes > 0 ? cost.bytes / rates_.memory_bytes : 0;
  return std::max(compute, memory) + rates_.launch_s;
}

double CostModel::op_seconds(const StepProgram& program, const Op& op) const {
  if (calibrated()) {
    const auto timed = calibration_.op_ms.find(op_key(program, op));
    if (timed != calibration_.op_ms.end()) return timed->second / 1000;
  }
  return rate_seconds(op_cost(program, op));
}

double CostModel::floor_seconds(const StepProgram& program, const Op& op) const {
  const OpCost cost = op_cost(program, op);
  return std::max(rate_seconds(cost) - rates_.launch_s, 0.0);
}

double CostModel::sequence_seconds(const StepProgram& program, SequenceId sequence) const {
  double seconds = 0;
  for (const Op& op : program.sequence(sequence).ops) seconds += op_seconds(program, op);
  return seconds * (calibrated() ? calibration_.step_factor : 1);
}

double CostModel::update_seconds(const StepProgram& program, int64_t accumulation) const {
  return sequence_seconds(program, SequenceId::MicroFirst) +
         static_cast<double>(accumulation - 1) * sequence_seconds(program, SequenceId::MicroRest) +
         sequence_seconds(program, SequenceId::Update);
}

double CostModel::timed_share(const StepProgram& program) const {
  double timed = 0, all = 0;
  for (const Op& op : program.sequence(SequenceId::MicroRest).ops) {
    const double seconds = op_seconds(program, op);
    all += seconds;
    if (calibration_.op_ms.count(op_key(program, op)) > 0) timed += seconds;
  }
  return all > 0 ? timed / all : 0;
}

}  // namespace lathe
