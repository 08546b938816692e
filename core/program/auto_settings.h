// Settings that say "auto": resolved once, before step 1, from the plans themselves.
#pragma once

#include "core/config/run_config.h"
#include "core/program/estimate.h"

namespace lathe {

// loss_chunk_tokens: the whole micro-batch while its logits stay under 64 MiB, else the largest power of two
// of tokens that does (at least 256). recompute: the lowest level that fits the request's budget for all
// layers, without a budget norms. Throws InvalidConfig, saying what it would need, when nothing fits.
RunConfig resolve_auto(const RunConfig& config, const EstimateRequest& request);

}  // namespace lathe
