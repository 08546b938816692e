#include "core/program/estimate.h"

#include <fmt/format.h>

#include "core/config/derived.h"
#include "core/config/validate.h"
#include "core/model/parameters.h"
#include "core/program/auto_settings.h"
#include "core/program/cost_model.h"
#include "core/program/program_builder.h"
#include "kernels/api/cost.h"

namespace lathe {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Unknown:
      return "unknown";
    case Verdict::Fits:
      return "fits";
    case Verdict::Tight:
      return "tight";
    case Verdict::DoesNotFit:
      return "does not fit";
  }
  return "unknown";
}

int64_t assumed_overhead_bytes(const ExecutionTarget& target) {
  if (target.kind == DeviceKind::Cpu) return 0;
  const bool consumer = target.compute_capability == 89 || target.compute_capability == 120;
  return (consumer ? int64_t{461} : int64_t{1126}) << 20;
}

int64_t overhead_bytes(const EstimateRequest& request) {
  if (request.overhead_bytes < 0) return assumed_overhead_bytes(request.target);
  return request.target.kind == DeviceKind::Cpu ? 0 : request.overhead_bytes + kOverheadReserve;
}

namespace {

Verdict judge(const Estimate& estimate) {
  if (estimate.budget_bytes <= 0) return Verdict::Unknown;
  if (estimate.process_bytes() > estimate.budget_bytes) return Verdict::DoesNotFit;
  // Within 3% of the budget another program's window can tip it over.
  const bool tight = estimate.process_bytes() > estimate.budget_bytes - estimate.budget_bytes * 3 / 100;
  return tight ? Verdict::Tight : Verdict::Fits;
}

}  // namespace

Estimate estimate(const RunConfig& config, const StepProgram& program, const MemoryPlan& plan,
                  const EstimateRequest& request) {
  Estimate result;
  result.parameters = parameter_count(config);
  result.padding_parameters = padding_count(config);
  result.tokens_per_update = tokens_per_update(config);
  result.model_flops_per_token = model_flops_per_token(config);
  double executed = 0;
  for (const Op& op : program.sequence(SequenceId::MicroRest).ops)
    executed += op_cost(program, op).executed_flops;
  result.executed_flops_per_token = executed / static_cast<double>(tokens_per_micro_step(config));

  result.arena_bytes = plan.arena_bytes;
  result.persistent_bytes = plan.persistent_bytes;
  result.overhead_measured = request.overhead_bytes >= 0;
  result.overhead_bytes = overhead_bytes(request);
  result.peak = memory_peak(program);
  result.role_bytes = bytes_by_role(program, result.peak.sequence, result.peak.op);
  result.layer_bytes = bytes_by_layer(program, result.peak.sequence, result.peak.op);
  result.phase_bytes = peak_by_phase(program);
  result.fragmentation_bytes = plan.arena_bytes - result.peak.bytes;
  const auto& ops = program.sequence(result.peak.sequence).ops;
  if (!ops.empty()) {
    result.peak_op = fmt::format("{}: {}", sequence_name(result.peak.sequence),
                                 describe(ops[static_cast<size_t>(result.peak.op)]));
  }
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == Role::Weight || buffer.role == Role::Master || buffer.role == Role::OptimizerState) {
      result.checkpoint_bytes += buffer.bytes;
    }
  }
  if (request.costs && request.costs->usable()) {
    result.time = request.costs->update_time(program, config.batch.accumulation);
    result.tokens_per_s = static_cast<double>(result.tokens_per_update) / result.time.seconds;
    result.calibrated = request.costs->calibrated();
  }
  result.budget_bytes = request.budget_bytes;
  result.verdict = judge(result);
  return result;
}

Estimate estimate(const RunConfig& config, const EstimateRequest& request) {
  require_valid(config, Purpose::Estimate);
  const RunConfig resolved = resolve_auto(config, request);
  const StepProgram program = build_step_program(resolved, training_options(resolved, request.target));
  return estimate(resolved, program, plan_memory(program), request);
}

nlohmann::ordered_json prediction_json(const Estimate& estimate) {
  if (estimate.tokens_per_s <= 0) return nullptr;
  nlohmann::ordered_json kinds = nlohmann::ordered_json::array();
  for (const KindTime& kind : estimate.time.kinds) {
    kinds.push_back({{"kind", kind.name},
                     {"ops", kind.ops},
                     {"s", kind.seconds},
                     {"timed_s", kind.timed_seconds},
                     {"floor_s", kind.floor_seconds},
                     {"flops", kind.flops},
                     {"bytes", kind.bytes}});
  }
  return {{"update_s", estimate.time.seconds},        {"optimizer_s", estimate.time.optimizer_seconds},
          {"tokens_per_s", estimate.tokens_per_s},    {"calibrated", estimate.calibrated},
          {"timed_share", estimate.time.timed_share}, {"by_kind", kinds}};
}

nlohmann::ordered_json to_json(const Estimate& estimate) {
  nlohmann::ordered_json roles, phases;
  for (int role = 0; role < kRoleCount; ++role) {
    const int64_t bytes = estimate.role_bytes[static_cast<size_t>(role)];
    if (bytes > 0) roles[std::string(role_name(static_cast<Role>(role)))] = bytes;
  }
  for (int phase = 0; phase < 4; ++phase) {
    const int64_t bytes = estimate.phase_bytes[static_cast<size_t>(phase)];
    if (bytes > 0) phases[std::string(phase_name(static_cast<Phase>(phase)))] = bytes;
  }
  nlohmann::ordered_json json;
  json["parameters"] = estimate.parameters;
  json["padding_parameters"] = estimate.padding_parameters;
  json["tokens_per_update"] = estimate.tokens_per_update;
  json["model_flops_per_token"] = estimate.model_flops_per_token;
  json["executed_flops_per_token"] = estimate.executed_flops_per_token;
  json["arena_bytes"] = estimate.arena_bytes;
  json["persistent_bytes"] = estimate.persistent_bytes;
  json["overhead_bytes"] = estimate.overhead_bytes;
  json["overhead_measured"] = estimate.overhead_measured;
  json["process_bytes"] = estimate.process_bytes();
  json["bytes_by_role_at_peak"] = roles;
  json["peak_bytes_by_phase"] = phases;
  json["bytes_by_layer_at_peak"] = estimate.layer_bytes;
  json["fragmentation_bytes"] = estimate.fragmentation_bytes;
  json["peak"] = {{"sequence", sequence_name(estimate.peak.sequence)},
                  {"op", estimate.peak.op},
                  {"description", estimate.peak_op},
                  {"live_bytes", estimate.peak.bytes}};
  json["checkpoint_bytes"] = estimate.checkpoint_bytes;
  if (estimate.tokens_per_s > 0) json["predicted"] = prediction_json(estimate);
  json["budget_bytes"] = estimate.budget_bytes;
  json["verdict"] = verdict_name(estimate.verdict);
  return json;
}

}  // namespace lathe
