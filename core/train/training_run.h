// A run from settings to end: opens data and device, plans, allocates, trains, and leaves the history in a
// stated state.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/config/run_config.h"
#include "core/history/history_store.h"
#include "core/program/estimate.h"
#include "core/train/checkpoint.h"
#include "core/train/generator.h"
#include "core/train/run_control.h"
#include "core/train/trainer.h"
#include "core/train/training_data.h"
#include "kernels/api/backend.h"

namespace lathe {

// A prepared model on a device: settings resolved, program planned, arena allocated. Weights are zero.
struct PreparedModel {
  RunConfig config;
  DeviceInfo device;
  StepProgram program;
  MemoryPlan plan;
  Estimate estimate;
  std::unique_ptr<Executable> executable;
};

struct PrepareRequest {
  bool train = true;
  bool evaluate = true;
  bool generate = false;
  std::string kernel_selection;  // recorded by an earlier run; empty: choose anew
  std::filesystem::path home;    // kernel choices and calibrations are kept there; empty: nowhere
  bool graphs = true;            // CUDA: replay captured graphs
};

// What the device and settings allow, before anything is allocated: resolves auto settings against the memory
// budget, builds and plans. Throws InvalidConfig, Unsupported (the backend's refusals), OutOfMemory (more
// than is free).
PreparedModel plan_model(const RunConfig& config, const BackendRegistry& registry,
                         const PrepareRequest& request);

// Then allocates. Fills in model.executable.
void allocate_model(PreparedModel& model, const BackendRegistry& registry, const PrepareRequest& request);

// "RUN" or "RUN@STEP" in the history, its checkpoint opened. Without a step the newest complete one.
struct CheckpointReference {
  std::string run;
  int64_t step = 0;
  std::filesystem::path folder;
  CheckpointManifest manifest;
};
CheckpointReference find_checkpoint(const HistoryStore& history, const std::string& reference);

// A checkpoint on a device, ready to write text with the tokenizer of the run's data.
struct TextModel {
  CheckpointReference from;
  PreparedModel model;
  std::shared_ptr<const Tokenizer> tokenizer;

  std::string generate(const std::string& prompt, int64_t tokens, const SamplingSettings& sampling,
                       const std::function<bool(const std::string&)>& on_text = {});
};
TextModel open_text_model(const HistoryStore& history, const BackendRegistry& registry,
                          const std::string& reference, Device device = Device::Automatic);

class TrainingRun {
 public:
  // A new run. Everything that can be refused is refused before the run is listed. Throws Error.
  static std::unique_ptr<TrainingRun> create(HistoryStore& history, const BackendRegistry& registry,
                                             const RunConfig& config);

  // Goes on with a run at its newest checkpoint (or `step`). `overrides` maps settings as the run has them to
  // those it goes on with; a setting that only a fork may change is refused. Throws Busy when a process
  // trains it.
  static std::unique_ptr<TrainingRun> resume(
      HistoryStore& history, const BackendRegistry& registry, const std::string& run,
      std::optional<int64_t> step, const std::function<RunConfig(const RunConfig&)>& overrides = {});

  ~TrainingRun();

  const std::string& id() const { return writer_->id(); }
  const std::filesystem::path& folder() const { return writer_->folder(); }
  const PreparedModel& model() const { return model_; }
  const TrainingData& data() const { return data_; }
  int64_t first_step() const { return progress_.step + 1; }
  // Why a resumed run may differ in its bits from an uninterrupted one; empty when it doesn't.
  const std::string& not_bitwise() const { return not_bitwise_; }

  // Trains to the end and writes it into the history; an Error is recorded there, too, before it is thrown
  // on.
  TrainingResult execute(RunControl& control, const TrainingObserver& observer);

 private:
  TrainingRun() = default;

  PreparedModel model_;
  TrainingData data_;
  TrainingProgress progress_;
  std::string not_bitwise_;
  const Backend* backend_ = nullptr;
  std::unique_ptr<RunWriter> writer_;
};

}  // namespace lathe
