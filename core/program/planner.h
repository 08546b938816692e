// Finds the fastest configuration that fits a memory budget, by searching real plans. Only settings that
// leave the maths alone are moved: recompute per layer, loss chunks, and on request the micro-batch at
// constant tokens an update.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/run_config.h"
#include "core/program/cost_model.h"
#include "core/program/estimate.h"

namespace lathe {

struct PlannerRequest {
  EstimateRequest estimate;  // target, budget, overhead; without usable costs executed FLOPs rank
  bool vary_micro_batch = false;
};

struct PlannedConfig {
  RunConfig config;  // resolved
  Estimate estimate;
  double extra_gflop_per_token = 0;  // recomputed
  // Beside keeping everything with the loss in one piece, at the same micro-batch: bytes less, share of time
  // more.
  int64_t saved_bytes = 0;
  double spent_share = 0;  // 0 without a cost model
  std::string words;       // "18 layers keep everything, 6 recompute gate/up; loss in chunks of 1024 tokens"

  double tokens_per_s() const { return estimate.tokens_per_s; }  // predicted; 0: no cost model
  // Smaller is faster: predicted seconds, or without a cost model the work of a token.
  double rank() const {
    return estimate.time.seconds > 0 ? estimate.time.seconds : estimate.executed_flops_per_token;
  }
};

struct PlannerResult {
  std::vector<PlannedConfig> ranked;  // fastest first, all fitting the budget; at least one
  // The next better recompute choice of the winner and the budget it needs; 0 bytes: nothing left to gain.
  int64_t next_budget_bytes = 0;
  double next_tokens_per_s = 0;
  std::string next_words;
  int plans = 0;  // tried
};

// Levels, chunk and micro-batch that are `auto` in `config` (or asked for) are searched; stated ones are
// kept. Throws InvalidConfig saying what the least configuration needs when none fits.
PlannerResult plan_configuration(const RunConfig& config, const PlannerRequest& request);

// Settings that would change the maths but save memory: what each saves, for the reader to choose. Never
// applied.
struct Suggestion {
  std::string key, value, why;
  int64_t saved_bytes = 0;
};
std::vector<Suggestion> suggest_changes(const RunConfig& config, const EstimateRequest& request);

// When nothing fits: those settings one after the other, the gentlest first (split master, 8-bit states, BF16
// gradients, no master), until something does. Nothing when not even all of them are enough.
struct Rescue {
  std::vector<std::pair<std::string, std::string>> changes;  // key, value
  PlannedConfig planned;
};
std::optional<Rescue> find_rescue(const RunConfig& config, const PlannerRequest& request);

// "18 layers keep everything, 6 recompute gate/up".
std::string recompute_words(const std::vector<RecomputeLevel>& levels, int64_t layers);

}  // namespace lathe
