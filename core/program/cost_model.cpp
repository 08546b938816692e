#include "core/program/cost_model.h"

#include <algorithm>
#include <iterator>

namespace lathe {

int kind_place(OpKind kind, Phase phase) {
  return 2 * static_cast<int>(kind) + (phase == Phase::Recompute ? 1 : 0);
}

std::string kind_name(OpKind kind, Phase phase) {
  return std::string(op_kind_name(kind)) + (phase == Phase::Recompute ? " (recomputed)" : "");
}

GpuRates typical_rates(const GpuEntry& gpu) {
  GpuRates rates;
  rates.matrix_flops = 0.78 * gpu.bf16_tflops * 1e12;
  rates.attention_flops = 0.50 * gpu.bf16_tflops * 1e12;
  rates.memory_bytes = 0.85 * gpu.memory_gb_per_s * 1e9;
  return rates;
}

namespace {

// As op_cost() has it; memory-bound kinds count no FLOPs.
Unit unit_of(std::string_view kind, const TimedOp& op) {
  if (op.flops <= 0) return Unit::Memory;
  return kind.starts_with("attention") ? Unit::Attention : Unit::Matrix;
}

std::string_view kind_of(std::string_view op_key) {
  return op_key.substr(0, op_key.find('|'));
}

// The best that any timed op reached: the rates of a card that no table knows.
GpuRates reached_rates(const std::map<std::string, TimedOp>& ops) {
  GpuRates rates;
  for (const auto& [key, op] : ops) {
    const double seconds = op.ms / 1000;
    const Unit unit = unit_of(kind_of(key), op);
    double& rate = unit == Unit::Matrix      ? rates.matrix_flops
                   : unit == Unit::Attention ? rates.attention_flops
                                             : rates.memory_bytes;
    rate = std::max(rate, (unit == Unit::Memory ? op.bytes : op.flops) / seconds);
  }
  return rates;
}

}  // namespace

CostModel::CostModel(const GpuEntry* gpu, Calibration calibration) : calibration_(std::move(calibration)) {
  if (calibration_.rates) {
    rates_ = *calibration_.rates;
  } else {
    rates_ = gpu ? typical_rates(*gpu) : reached_rates(calibration_.ops);
  }
  for (const auto& [key, op] : calibration_.ops) {
    const std::string_view kind = kind_of(key);
    const double floor = floor_seconds(unit_of(kind, op), op.flops, op.bytes);
    if (floor > 0) efficiencies_[std::string(kind)][floor] = op.ms / 1000 / floor;
  }
}

double CostModel::floor_seconds(Unit unit, double flops, double bytes) const {
  const double rate = unit == Unit::Attention ? rates_.attention_flops : rates_.matrix_flops;
  const double compute = rate > 0 ? flops / rate : 0;
  const double memory = rates_.memory_bytes > 0 ? bytes / rates_.memory_bytes : 0;
  return std::max(compute, memory);
}

double CostModel::floor_seconds(const StepProgram& program, const Op& op) const {
  const OpCost cost = op_cost(program, op);
  return floor_seconds(cost.unit, cost.executed_flops, cost.bytes);
}

CostModel::OpTimes CostModel::predict(const StepProgram& program, const Op& op) const {
  if (calibrated()) {
    if (const auto ms = calibration_.op_ms(program, op)) return {*ms / 1000, true};
  }
  const double floor = floor_seconds(program, op);
  const auto kind = efficiencies_.find(op_kind_name(op.kind));
  if (kind == efficiencies_.end() || floor <= 0) return {floor + rates_.launch_s, false};
  // The neighbour nearer in ratio of work.
  const Efficiencies& timed = kind->second;
  auto next = timed.lower_bound(floor);
  if (next == timed.end()) --next;
  if (next != timed.begin() && next->first > floor && floor / std::prev(next)->first < next->first / floor)
    --next;
  return {floor * next->second, false};
}

UpdateTime CostModel::update_time(const StepProgram& program, int64_t accumulation) const {
  UpdateTime result;
  std::map<int, KindTime> kinds;
  double micro_steps = 0, timed = 0;
  for (const auto& [sequence, times] :
       {std::pair{SequenceId::MicroFirst, int64_t{1}}, std::pair{SequenceId::MicroRest, accumulation - 1},
        std::pair{SequenceId::Update, int64_t{1}}}) {
    const auto& ops = program.sequence(sequence).ops;
    double seconds = 0;
    for (const Op& op : ops) {
      const OpTimes time = predict(program, op);
      const OpCost cost = op_cost(program, op);
      const auto repeated = static_cast<double>(times);
      seconds += time.seconds;
      KindTime& kind = kinds[kind_place(op.kind, op.phase)];
      if (kind.name.empty()) kind.name = kind_name(op.kind, op.phase);
      kind.ops += times;
      kind.seconds += repeated * time.seconds;
      kind.timed_seconds += time.timed ? repeated * time.seconds : 0;
      kind.floor_seconds += repeated * floor_seconds(cost.unit, cost.executed_flops, cost.bytes);
      kind.flops += repeated * cost.executed_flops;
      kind.bytes += repeated * cost.bytes;
      if (sequence != SequenceId::Update) {
        micro_steps += repeated * time.seconds;
        timed += time.timed ? repeated * time.seconds : 0;
      }
    }
    if (ops.empty()) continue;
    seconds *= calibration_.sequence_factor(1000 * seconds / static_cast<double>(ops.size()));
    result.seconds += seconds * static_cast<double>(times);
    if (sequence == SequenceId::Update) result.optimizer_seconds = seconds;
  }
  result.timed_share = micro_steps > 0 ? timed / micro_steps : 0;
  for (auto& [place, kind] : kinds) {
    if (kind.ops > 0) result.kinds.push_back(std::move(kind));
  }
  std::ranges::stable_sort(result.kinds, std::greater{}, &KindTime::seconds);
  return result;
}

}  // namespace lathe
