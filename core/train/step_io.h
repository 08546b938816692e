// What goes to the device before a step and comes back behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/batch.h"
#include "kernels/api/backend.h"

namespace lathe {

// What changes from update to update (StepScalar), in the user's terms.
struct StepScalars {
  int64_t valid_tokens = 0;      // of the whole accumulation window
  double learning_rate = 0;      // before a group's factor
  int64_t optimizer_step = 1;    // AdamW's t
  double max_accepted_norm = 0;  // 0: no limit
  int64_t step = 1;  // names this update for stochastic rounding: seed and step alone decide the bits
};
void write_step_scalars(const StepProgram& program, Executable& executable, const RunConfig& config,
                        const StepScalars& scalars);

// Tokens, targets and document starts of a micro-batch; `token_order` (sort_rows_by_token) where there is a
// backward.
void write_batch(const StepProgram& program, Executable& executable, const Batch& batch,
                 std::span<const int32_t> token_order = {});

// Small tensors that a run of a sequence copies aside, and their numbers.
class Fetch {
 public:
  Fetch(const StepProgram& program, std::vector<TensorId> tensors);

  std::span<const TensorId> tensors() const { return tensors_; }  // for Executable::run
  void wait(Executable& executable, Ticket ticket);
  // Of the i-th tensor, FP32 or FP64, as of the last wait().
  std::vector<double> values(size_t i) const;

 private:
  const StepProgram& program_;
  std::vector<TensorId> tensors_;
  std::vector<std::byte> bytes_;
};

}  // namespace lathe
