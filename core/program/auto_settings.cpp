#include "core/program/auto_settings.h"

#include <fmt/format.h>

#include "core/config/derived.h"
#include "core/program/program_builder.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

int64_t choose_loss_chunk(const RunConfig& config) {
  const int64_t all = tokens_per_micro_step(config);
  const int64_t row_bytes = padded_vocab(config.model) * (config.precision.compute == Compute::Bf16 ? 2 : 4);
  constexpr int64_t kLogitsBytes = int64_t{64} << 20;
  if (all * row_bytes <= kLogitsBytes) return 0;
  int64_t chunk = 256;
  while (chunk * 2 * row_bytes <= kLogitsBytes) chunk *= 2;
  return chunk < all ? chunk : 0;
}

}  // namespace

RunConfig resolve_auto(const RunConfig& config, const EstimateRequest& request) {
  RunConfig resolved = config;
  if (resolved.memory.loss_chunk_tokens.automatic) {
    resolved.memory.loss_chunk_tokens = {false, choose_loss_chunk(config)};
  }
  if (!resolved.memory.recompute.automatic) return resolved;
  resolved.memory.recompute.automatic = false;
  if (request.budget_bytes <= 0) {
    resolved.memory.recompute.levels = {RecomputeLevel::Norms};
    return resolved;
  }
  int64_t least = 0;
  for (int level = 0; level <= static_cast<int>(RecomputeLevel::Block); ++level) {
    resolved.memory.recompute.levels = {static_cast<RecomputeLevel>(level)};
    const StepProgram program = build_step_program(resolved, training_options(resolved, request.target));
    const Estimate result = estimate(resolved, program, plan_memory(program), request);
    if (result.verdict != Verdict::DoesNotFit) return resolved;
    least = result.process_bytes();
  }
  throw Error(
      ErrorCode::InvalidConfig,
      fmt::format(
          "Even with every block recomputed this needs {:.2f} GiB, more than the budget of {:.2f} GiB.",
          static_cast<double>(least) / (1 << 30), static_cast<double>(request.budget_bytes) / (1 << 30)),
      "Lower batch.micro_batch or model.context, or choose smaller optimizer.state and precision.master.");
}

}  // namespace lathe
