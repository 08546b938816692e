// Predicts how long a program takes: per op from timings of the same shape on this GPU, else from rates; the
// rates come from timed ops of the same unit on this GPU, else from its specification and typical
// efficiencies ("uncalibrated").
#pragma once

#include <string>
#include <vector>

#include "core/program/calibration.h"
#include "core/program/gpu_table.h"
#include "kernels/api/cost.h"
#include "kernels/api/program.h"

namespace lathe {

// Achievable rates of one GPU. Never carried over to another card.
struct GpuRates {
  double matrix_flops = 0;     // FLOP/s of large BF16 matrix products with FP32 accumulation
  double attention_flops = 0;  // FLOP/s, causal half counted
  double memory_bytes = 0;     // bytes/s of memory-bound kernels
  double launch_s = 0;         // of one op in a graph
};

// From the specification: 78% of the BF16 peak for matrix products (H200: 77% sustained, consumer cards run
// close to their published accumulate rate), 50% for attention, 85% of the memory bandwidth, 2 microseconds a
// launch.
GpuRates typical_rates(const GpuEntry& gpu);

class CostModel {
 public:
  // `gpu` is null for a card that is in no table; then only a calibration can predict.
  CostModel(const GpuEntry* gpu, Calibration calibration);

  bool usable() const { return rates_.matrix_flops > 0; }
  bool calibrated() const { return !calibration_.op_ms.empty(); }
  const GpuRates& rates() const { return rates_; }
  const Calibration& calibration() const { return calibration_; }

  double op_seconds(const StepProgram& program, const Op& op) const;

  // The floor of an op: FLOPs over the rate or bytes over the bandwidth, whichever takes longer.
  double floor_seconds(const StepProgram& program, const Op& op) const;

  // Of one run of a sequence, gaps and overlap as calibrated.
  double sequence_seconds(const StepProgram& program, SequenceId sequence) const;

  // Of a whole update: first and further micro-steps and the optimizer.
  double update_seconds(const StepProgram& program, int64_t accumulation) const;

  // Share of the predicted micro-step whose shapes were timed on this GPU, 0 to 1.
  double timed_share(const StepProgram& program) const;

 private:
  double rate_seconds(const OpCost& cost) const;

  Calibration calibration_;
  GpuRates rates_;
};

}  // namespace lathe
