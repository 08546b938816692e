// A small training program on the GPU: weights, a batch, and what a few updates leave behind.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/config/run_config.h"
#include "core/program/memory_plan.h"
#include "kernels/api/backend.h"

namespace lathe::test {

class SmallRun {
 public:
  // `plan_seed` other than 0 shuffles the memory layout.
  SmallRun(Backend& backend, const RunConfig& config, const PrepareOptions& options, uint64_t plan_seed = 0);

  // Updates of two micro-steps each, on random tokens of a fixed seed. Returns the bytes of each update's
  // loss sums and clip result, and at the end those of all weights.
  std::vector<std::byte> train(int updates);

  Executable& executable() { return *executable_; }
  const StepProgram& program() const { return program_; }

 private:
  void write_batch(int micro_step);
  void write_scalars(int update);

  RunConfig config_;
  StepProgram program_;
  MemoryPlan plan_;
  std::unique_ptr<Executable> executable_;
};

// Two layers of hidden 256 over 128 positions, BF16 with FP32 master.
RunConfig small_config();

}  // namespace lathe::test
