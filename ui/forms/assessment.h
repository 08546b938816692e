// What a configuration would need on a chosen device: the estimate, and the live bytes over the step it comes
// from. Plain values from worker to widget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/program/estimate.h"
#include "kernels/api/backend.h"

namespace lathe {
class CostModel;
}

namespace lathe::ui {

// A device a run is judged against: one of this machine's, or a card from the table.
struct DeviceChoice {
  std::string name;  // "GeForce RTX 5080, 16 GiB"
  ExecutionTarget target;
  int64_t total_bytes = 0;                 // of the card; of the machine's memory on a CPU
  int64_t others_bytes = 0;                // other programs' use, read at start; 0 for a card that isn't here
  int64_t overhead_bytes = -1;             // measured on this device; -1: assumed
  bool here = false;                       // in this machine: can be trained on
  double bf16_tflops = 0;                  // published peak; 0: unknown
  std::shared_ptr<const CostModel> costs;  // predicts speed; null: nothing known of this device

  bool gpu() const { return target.kind == DeviceKind::Cuda; }
};

// This machine's devices first (GPU, then CPU), then the cards of core's table. `home` holds what was
// measured on GPUs: their overhead and the times of operations.
std::vector<DeviceChoice> device_choices(const BackendRegistry& registry, const std::filesystem::path& home);

// A card of so much memory and nothing else known: verdicts, but no speed.
DeviceChoice other_card(int64_t bytes);

// Bytes this configuration may use there: the stated budget; else what is free, less the margin on a GPU.
int64_t budget_bytes(const RunConfig& config, const DeviceChoice& device);
EstimateRequest estimate_request(const RunConfig& config, const DeviceChoice& device);

struct LivePoint {
  int64_t bytes = 0;
  Phase phase = Phase::Forward;
};

struct Assessment {
  DeviceChoice device;
  RunConfig config;    // as asked
  RunConfig resolved;  // every auto setting resolved: to what saves the most where nothing fits
  Estimate estimate;
  int64_t budget = 0;
  std::vector<LivePoint> live;        // at each op of the sequence that holds the peak, arena bytes
  std::vector<std::string> op_names;  // as long as `live`: "layer 3 attention backward"
  double milliseconds = 0;            // this took
};

// Throws InvalidConfig on problems.
Assessment assess(const RunConfig& config, const DeviceChoice& device);

}  // namespace lathe::ui
