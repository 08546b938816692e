#include "core/program/auto_settings.h"

#include "core/config/derived.h"
#include "core/program/planner.h"

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
  const bool levels = config.memory.recompute.automatic, chunk = config.memory.loss_chunk_tokens.automatic;
  if (!levels && !chunk) return config;
  if (levels && request.budget_bytes > 0) {
    PlannerRequest planner;
    planner.estimate = request;
    return plan_configuration(config, planner).ranked.front().config;
  }
  RunConfig resolved = config;
  if (chunk) resolved.memory.loss_chunk_tokens = {false, choose_loss_chunk(config)};
  if (levels) resolved.memory.recompute = {false, {RecomputeLevel::Norms}};
  return resolved;
}

}  // namespace lathe
