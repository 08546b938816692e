// The GPU an estimate or plan is for: this machine's, or one from the table.
#pragma once

#include <string>

#include "app/cli/commands.h"
#include "core/program/cost_model.h"
#include "core/program/estimate.h"

namespace lathe::cli {

struct GpuChoice {
  std::string name;  // empty: none known
  ExecutionTarget target{DeviceKind::Cuda, 0, true};
  int64_t memory_bytes = 0;  // total of a card from the table, free now of this machine's; 0: unknown
  const GpuEntry* entry = nullptr;
  Calibration calibration;  // of this machine's GPU

  CostModel costs() const { return CostModel(entry, calibration); }
  EstimateRequest estimate_request() const;
};

// "this": the first usable GPU here (none leaves the name empty). Otherwise match_gpu().
GpuChoice choose_gpu(const std::string& text, const Context& context);

}  // namespace lathe::cli
