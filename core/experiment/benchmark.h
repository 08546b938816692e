// The benchmark protocol: complete updates on random tokens, after warm-up, medians, everything a claim of
// speed needs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/train/training_run.h"
#include "kernels/api/backend.h"

namespace lathe {

// What is timed: complete updates.
struct UpdateLoad {
  int64_t warmup_updates = 2;
  int64_t updates = 5;  // at least these
  double seconds = 5;  // and at least this long: a GPU that has just woken up runs above its sustained clocks
};

struct UpdateTimes {
  int64_t updates = 0;
  double median_s = 0, min_s = 0, max_s = 0;  // of one update
  double micro_steps_s = 0, optimizer_s = 0;  // medians of the split
  double whole_s = 0;                         // of all updates
  double loss = 0;                            // of the last update: proof of work
};

// Trains a prepared model with initialised weights on random tokens, as the trainer does it.
UpdateTimes time_updates(PreparedModel& model, const UpdateLoad& load);

struct BenchmarkRequest {
  UpdateLoad load;
  bool graphs = true;          // replay captured graphs (CUDA)
  std::filesystem::path home;  // see PrepareRequest; the measured rates lie there, too
};

struct BenchmarkResult {
  Estimate estimate;
  DeviceInfo device;
  MemoryReport memory;
  int64_t peak_process_bytes = 0;
  int64_t tokens_per_update = 0;
  double prepare_s = 0;
  UpdateTimes times;
  double tokens_per_s = 0;             // nominal: tokens of an update over its median time
  double tokens_per_s_end_to_end = 0;  // all timed updates over the whole time, uploads and metrics included
  double model_flops_per_s = 0, executed_flops_per_s = 0;
  // MFU and HFU = model or executed FLOP/s over the matrix rate (PaLM, appendix B): of the specification
  // sheet, where the GPU is in the table, and measured, where `lathe doctor` has measured it.
  std::optional<double> spec_flops_per_s, measured_flops_per_s;
};

// Prepares, warms up, times. Throws Error as TrainingRun::create does.
BenchmarkResult run_benchmark(const RunConfig& config, const BackendRegistry& registry,
                              const BenchmarkRequest& request);

nlohmann::ordered_json to_json(const BenchmarkResult& result);

// The middle value, the upper one of two; 0 for none.
double median(std::vector<double> values);

// Writes random tokens below `vocab` as the batch of a micro-step, all of them valid. Same seed, same batch.
void write_random_batch(const StepProgram& program, Executable& executable, int64_t vocab, uint64_t seed);

}  // namespace lathe
