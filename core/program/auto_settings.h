// Settings that say "auto": resolved once, before step 1, from the plans themselves.
#pragma once

#include "core/config/run_config.h"
#include "core/program/estimate.h"

namespace lathe {

// With a budget and recompute = auto, the planner's winner (planner.h). Otherwise loss_chunk_tokens becomes
// the whole micro-batch while its logits stay under 64 MiB, else the largest power of two of tokens that does
// (at least 256), and recompute becomes norms. Throws InvalidConfig, saying what the least would need, when
// nothing fits.
RunConfig resolve_auto(const RunConfig& config, const EstimateRequest& request);

}  // namespace lathe
