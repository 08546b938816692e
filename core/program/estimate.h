// What a configuration will need, from its own program and plan: no device, no run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/program/cost_model.h"
#include "core/program/memory_plan.h"
#include "kernels/api/program.h"
#include "kernels/api/target.h"

namespace lathe {

enum class Verdict { Unknown, Fits, Tight, DoesNotFit };
std::string_view verdict_name(Verdict verdict);

struct Estimate {
  int64_t parameters = 0;          // allocated elements, vocabulary padding included
  int64_t padding_parameters = 0;  // of these, padding
  int64_t tokens_per_update = 0;
  double model_flops_per_token = 0;     // 6N-like, recomputation not counted
  double executed_flops_per_token = 0;  // with recomputation

  int64_t arena_bytes = 0;           // the one allocation
  int64_t overhead_bytes = 0;        // context, libraries and a reserve beside it (0 on the CPU)
  bool overhead_measured = false;    // on this GPU; otherwise assumed
  int64_t persistent_bytes = 0;      // weights, masters, gradients, states, batch, metrics
  std::vector<int64_t> role_bytes;   // at the peak, by Role
  std::vector<int64_t> phase_bytes;  // largest live bytes by Phase
  std::vector<int64_t> layer_bytes;  // activations and scratch at the peak by layer; last: outside
  int64_t fragmentation_bytes = 0;   // arena minus what is live at the peak
  MemoryPeak peak;
  std::string peak_op;           // "micro-step: layer 23 swiglu backward"
  int64_t checkpoint_bytes = 0;  // weights, masters and states on disk

  UpdateTime time;          // predicted; 0 seconds: not predicted
  double tokens_per_s = 0;  // predicted, nominal, step only
  bool calibrated = false;  // from timings on this GPU, not from its specification

  int64_t budget_bytes = 0;  // 0: none stated
  Verdict verdict = Verdict::Unknown;
  int64_t process_bytes() const { return arena_bytes + overhead_bytes; }
};

struct EstimateRequest {
  ExecutionTarget target;
  int64_t budget_bytes = 0;          // device memory this process may use
  int64_t overhead_bytes = -1;       // measured on this GPU; -1: assume
  const CostModel* costs = nullptr;  // null: no prediction of speed
};

// Throws InvalidConfig listing every problem.
Estimate estimate(const RunConfig& config, const EstimateRequest& request);

// Of an already built program.
Estimate estimate(const RunConfig& config, const StepProgram& program, const MemoryPlan& plan,
                  const EstimateRequest& request);

nlohmann::ordered_json to_json(const Estimate& estimate);

// The predicted times alone; null where nothing was predicted.
nlohmann::ordered_json prediction_json(const Estimate& estimate);

// What a program needs beside its arena: measured and a reserve, or assumed.
int64_t overhead_bytes(const EstimateRequest& request);

// For a measured overhead: preparing a graph takes a few MiB for a moment, and a peak must never be promised
// too low. Within the 64 MiB that a promise may be off.
inline constexpr int64_t kOverheadReserve = int64_t{48} << 20;

// Context and library kernels beside the arena while no measurement exists for the GPU: the larger of two
// observations, 0.45 GiB on a consumer card and 1.1 GiB on an H200.
int64_t assumed_overhead_bytes(const ExecutionTarget& target);

}  // namespace lathe
