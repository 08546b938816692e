// A whole model on a backend, as tests want it: program, plan and executable of one configuration, batches of
// a fixed seed, sequences by name, and every number read and written as FP64 whatever it is stored in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/batch.h"
#include "core/program/memory_plan.h"
#include "core/program/program_builder.h"
#include "kernels/api/backend.h"

namespace lathe::testing {

struct ModelOptions {
  BuildOptions build;        // `target` is taken from the backend
  uint64_t layout_seed = 0;  // other than 0: a shuffled memory layout (plan_memory)
  PrepareOptions prepare;
};

// What changes from update to update.
struct UpdateScalars {
  double learning_rate = 0;
  int64_t optimizer_step = 1;  // AdamW's t
  int64_t valid_tokens = 1;    // of the whole window
  double clip = 0;             // 0: off
};

// Sums over the counted positions, not yet divided by their number.
struct LossSums {
  double loss = 0, z_loss = 0;
  double total() const { return loss + z_loss; }
  bool operator==(const LossSums&) const = default;
};

class TestModel {
 public:
  // Weights are initialise_weights() of seed 1. Throws what building and preparing throw.
  TestModel(Backend& backend, const RunConfig& config, const ModelOptions& options = {});

  const RunConfig& config() const { return config_; }
  const StepProgram& program() const { return *program_; }
  const MemoryPlan& plan() const { return *plan_; }
  Executable& executable() { return *executable_; }

  // Elements of a contiguous tensor, as numbers or as they are stored.
  std::vector<double> values(TensorId tensor);
  std::vector<std::byte> bytes(TensorId tensor);

  // Throws NotFound for a name the program doesn't have.
  const Parameter& parameter(const std::string& name) const;
  std::vector<double> gradient(const std::string& name) { return values(parameter(name).gradient); }
  // From the master where there is one; exact in FP64 programs, too.
  std::vector<double> weight(const std::string& name);
  void set_weight(const std::string& name, std::span<const double> values);

  // Draws every weight anew, norms around one, so that no factor hides by being one or zero. Vocabulary
  // padding stays zero. `scale` is the standard deviation of a projection's output for unit input.
  void randomise_weights(uint64_t seed, double scale = 1);

  void write_scalars(const UpdateScalars& scalars);
  void write_batch(const Batch& batch);

  // One sequence over a batch; the scalars must have been written.
  void micro_step(const Batch& batch, bool first);
  void accumulate(const std::vector<Batch>& window);  // scalars' valid tokens, then all micro-steps
  LossSums window_loss();                             // of the micro-steps since the first
  LossSums evaluate(const Batch& batch);
  void update(const UpdateScalars& scalars);

  // Logits of the vocabulary without padding, behind the last of `ids`; and after one token more.
  std::vector<double> prefill(const std::vector<int32_t>& ids);
  std::vector<double> decode(int32_t id, int64_t position);

 private:
  std::vector<double> logits();

  RunConfig config_;
  // At fixed addresses: the executable refers to both.
  std::unique_ptr<const StepProgram> program_;
  std::unique_ptr<const MemoryPlan> plan_;
  std::unique_ptr<Executable> executable_;
};

// Random tokens with documents of random lengths; each position counts with probability 1 - `masked`, at
// least one does.
Batch random_batch(const RunConfig& config, uint64_t seed, double masked = 0.2);

int64_t valid_tokens(const std::vector<Batch>& window);

double norm(std::span<const double> values);
// ‖a - b‖ / ‖b‖; 0 when both are zero.
double relative_difference(std::span<const double> a, std::span<const double> b);
double cosine(std::span<const double> a, std::span<const double> b);

}  // namespace lathe::testing
