// Turns a run's settings into its step program: the single description of what is computed and what is
// stored.
#pragma once

#include "core/config/run_config.h"
#include "kernels/api/program.h"
#include "kernels/api/target.h"

namespace lathe {

struct BuildOptions {
  ExecutionTarget target;
  bool train = true;      // first and further micro-steps, update; gradients, masters and states exist
  bool evaluate = true;   // forward and loss
  bool generate = false;  // prefill and decode, with a KV cache
  bool fp64 = false;      // every number FP64: gradient checks against finite differences
};

// What a training run needs: training, evaluation if it evaluates, generation if it samples.
BuildOptions training_options(const RunConfig& config, const ExecutionTarget& target);

// Settings must be valid, and `auto` ones resolved (resolve_auto). Throws InvalidConfig for a combination
// that no program exists for.
StepProgram build_step_program(const RunConfig& config, const BuildOptions& options);

// Positions of one loss chunk, at most the micro-batch's; the setting must be resolved.
int64_t loss_chunk_tokens(const RunConfig& config);

}  // namespace lathe
