// Predicts how long a program takes. An op takes as long as one of the same shape was timed on this GPU; else
// its floor times what the timed op of the same kind nearest in work took over its own floor; else, where
// nothing of the kind was timed, its floor at the rates measured on this GPU or typical of its specification
// ("uncalibrated").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/program/calibration.h"
#include "core/program/gpu_table.h"
#include "kernels/api/cost.h"
#include "kernels/api/program.h"

namespace lathe {

// From the specification: 78% of the BF16 peak for matrix products, 50% for attention, 85% of the memory
// bandwidth, 2 microseconds a launch. Guesses for any card: a PyTorch user's 8,000 to 9,000 tokens/s on an
// RTX 5080 with every layer recomputed mean 65% to 73% of its peak over everything, and these give 8,500.
GpuRates typical_rates(const GpuEntry& gpu);

// An op's place and name in a table by kind, where recomputation stands apart: "linear (recomputed)".
int kind_place(OpKind kind, Phase phase);
std::string kind_name(OpKind kind, Phase phase);

// One kind of op over a whole update.
struct KindTime {
  std::string name;  // "linear", "linear (recomputed)"
  int64_t ops = 0;
  double seconds = 0, timed_seconds = 0;  // of these, in shapes timed on this GPU
  double floor_seconds = 0, flops = 0, bytes = 0;
};

struct UpdateTime {
  double seconds = 0;
  double optimizer_seconds = 0;  // of these, norm, clip and optimizer
  double timed_share = 0;        // of the micro-steps' time, in shapes timed on this GPU: 0 to 1
  std::vector<KindTime> kinds;   // longest first; their sum, and what ops alone don't explain, is `seconds`
};

class CostModel {
 public:
  // Rates measured on this GPU take the place of its specification's. `gpu` is null for a card that is in no
  // table; then only a calibration can predict.
  CostModel(const GpuEntry* gpu, Calibration calibration);

  bool usable() const { return rates_.matrix_flops > 0; }
  bool calibrated() const { return !calibration_.ops.empty(); }
  const GpuRates& rates() const { return rates_; }
  const Calibration& calibration() const { return calibration_; }

  double op_seconds(const StepProgram& program, const Op& op) const { return predict(program, op).seconds; }

  // The floor of an op: FLOPs over the rate or bytes over the bandwidth, whichever takes longer.
  double floor_seconds(const StepProgram& program, const Op& op) const;

  // Of a whole update: first and further micro-steps and the optimizer.
  UpdateTime update_time(const StepProgram& program, int64_t accumulation) const;

 private:
  // Of the timed ops of one kind: floor in seconds, and measured time over it.
  using Efficiencies = std::map<double, double>;

  struct OpTimes {
    double seconds = 0;
    bool timed = false;
  };
  OpTimes predict(const StepProgram& program, const Op& op) const;
  double floor_seconds(Unit unit, double flops, double bytes) const;

  Calibration calibration_;
  GpuRates rates_;
  std::map<std::string, Efficiencies, std::less<>> efficiencies_;  // by kind
};

}  // namespace lathe
