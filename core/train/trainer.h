// The training loop: micro-steps, updates, guards, evaluation, samples, checkpoints. Knows no threads and no
// windows; requests come through RunControl and the history's commands, numbers leave through the history.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/history/history_store.h"
#include "core/program/estimate.h"
#include "core/train/checkpoint.h"
#include "core/train/run_clock.h"
#include "core/train/run_control.h"
#include "core/train/step_io.h"
#include "core/train/telemetry.h"
#include "core/train/training_data.h"
#include "core/train/update_feed.h"
#include "kernels/api/backend.h"

namespace lathe {

// What a front end may want to show as it happens. Called on the training thread; keep it short.
struct TrainingObserver {
  std::function<void(const UpdateRow&, std::optional<int64_t> eta_ms)> on_update;
  std::function<void(const EvaluationRow&)> on_evaluation;
  std::function<void(EventLevel, const std::string&)> on_event;
  std::function<void(int64_t step, const std::string& prompt, const std::string& text)> on_sample;
  std::function<void(const std::filesystem::path& folder, int64_t bytes)> on_checkpoint;
  std::function<void(RunControl&)> between_micro_steps;
};

struct TrainingResult {
  RunStatus status = RunStatus::Finished;  // Finished, Stopped or Failed
  std::string reason;
  int64_t step = 0;
  int64_t checkpoint_step = -1;  // newest complete checkpoint; -1: none
  std::optional<double> last_loss;
  std::optional<double> last_eval_loss;  // first validation set
};

// Everything a loop needs, prepared. All of it outlives the Trainer.
struct TrainingJob {
  const RunConfig& config;  // resolved
  const StepProgram& program;
  const Estimate& estimate;
  Executable& executable;
  const DeviceInfo& device;
  TrainingData& data;
  RunWriter& writer;
  RunControl& control;
  SharedPosition* position = nullptr;  // kept up to date for whoever watches from another thread
};

class Trainer {
 public:
  // `progress` is where the run stands: all zero for a new one; the sampler must stand there too.
  Trainer(const TrainingJob& job, TrainingProgress progress, TrainingObserver observer = {});
  ~Trainer();

  // Trains until a limit, a stop request or a guard ends it, and reports how. Throws what the device, the
  // disk or the data threw when it can't go on; the run's history then still says where it stands.
  TrainingResult run();

 private:
  struct Pending;  // an update whose metrics are still on the device
  struct Stop {    // why the loop ends
    RunStatus status;
    std::string reason;
  };
  using Clock = std::chrono::steady_clock;

  const RunConfig& config() const { return job_.config; }
  std::optional<Stop> loop();
  std::optional<Stop> make_update();
  std::optional<Stop> micro_steps(UpdateBatch& batch, Pending& update);
  void enqueue_micro_step(const UpdateBatch& batch, size_t index, Pending& update);
  void enqueue_update(const UpdateBatch& batch, Pending& update);
  std::optional<Stop> finish_update();
  std::optional<Stop> guard_update(const Pending& update, bool skipped, double norm,
                                   const std::string& culprit);
  std::optional<Stop> roll_back(const std::string& why);
  std::optional<Stop> between_updates();
  std::optional<Stop> between_micro_steps(int64_t micro_step);
  std::optional<Stop> pause(const std::string& reason, int64_t micro_step);
  std::optional<Stop> save(bool retry_when_full);
  std::optional<Stop> reached_limit() const;
  std::string evaluate();                                       // why not; empty: done
  std::string sample(const std::vector<std::string>& prompts);  // likewise
  void add_statistics();
  void take_commands();
  // Answers all open commands of a kind; `trouble`: why they were not done, told in the log as well.
  void answer(CommandKind kind, const std::string& text, const std::string& trouble = {});
  void say(EventLevel level, const std::string& text);
  void set_live(RunStatus state, const std::string& phase, int64_t micro_step);
  void restart_feed();
  RowPosition position() const;
  int64_t active_ms() const;
  std::optional<int64_t> eta_ms() const;
  std::string culprit(std::span<const double> square_sums, double loss) const;

  TrainingJob job_;
  TrainingProgress progress_;
  TrainingObserver observer_;
  Fetch fetch_;  // loss sums, clip result, squared gradient norms of an update
  TrainingResult result_;
  std::unique_ptr<UpdateFeed> feed_;
  std::unique_ptr<Pending> pending_;
  std::vector<Command> open_commands_;

  RunClock clock_;
  SpeedWatch speed_watch_;
  bool window_dropped_ = false;    // a roll-back made the open window void
  int64_t failures_in_a_row_ = 0;  // non-finite updates
  int64_t rollbacks_at_step_ = 0, last_rollback_step_ = -1;
  std::vector<std::vector<float>> samples_before_;  // of the weights, when this update is one with statistics
};

}  // namespace lathe
