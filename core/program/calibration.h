// What was measured on one GPU: milliseconds of ops by shape, rates, and what the driver and libraries take
// beside the arena. One small JSON file a GPU in the home folder; `lathe profile` and `lathe doctor` add to
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/program.h"

namespace lathe {

// Two ops with the same key do the same work: kind, '|', shapes, strides, dtypes and modes, never layer or
// phase.
std::string op_key(const StepProgram& program, const Op& op);

// Achievable rates of one GPU. Never carried over to another card.
struct GpuRates {
  double matrix_flops = 0;     // FLOP/s of large BF16 matrix products with FP32 accumulation
  double attention_flops = 0;  // FLOP/s, causal half counted
  double memory_bytes = 0;     // bytes/s of memory-bound kernels
  double launch_s = 2e-6;      // of one op in a graph; not measured
};

// An op as it was timed, and the work that takes that long.
struct TimedOp {
  double ms = 0, flops = 0, bytes = 0;
};

// A whole sequence as it was timed: wall time under lasting load over the sum of its ops' fastest times.
// Below 1 where ops overlap, above where gaps remain and where the card can't hold its clocks.
struct TimedSequence {
  double mean_op_ms = 0, factor = 1;
};

struct Calibration {
  std::string gpu;                     // the device's name; figures never pass to another
  std::string versions;                // driver and libraries they hold for
  std::map<std::string, TimedOp> ops;  // by op_key
  std::vector<TimedSequence> sequences;
  std::optional<GpuRates> rates;          // measured by `lathe doctor`
  std::optional<int64_t> overhead_bytes;  // context, modules, handles: the process minus its arena

  bool empty() const { return ops.empty() && !rates && !overhead_bytes; }

  // Keeps the faster of two timings of one key: a disturbed run can only be slower.
  void add(const StepProgram& program, const Op& op, double ms);

  // As it was timed; nothing for other shapes.
  std::optional<double> op_ms(const StepProgram& program, const Op& op) const;

  // Replaces an earlier one of ops about as long (within a tenth).
  void add_sequence(double mean_op_ms, double factor);

  // Of the timed sequence whose ops are the most alike in length; 1 when none was timed.
  double sequence_factor(double mean_op_ms) const;
};

// Driver and libraries as one text, for Calibration::versions.
std::string calibration_versions(const DeviceInfo& device);

std::filesystem::path calibration_path(const std::filesystem::path& home, std::string_view gpu);

// What is stored for this GPU; empty when there is nothing, when it is of other library versions or
// unreadable (then it will be measured anew). `versions` empty accepts any.
Calibration load_calibration(const std::filesystem::path& home, std::string_view gpu,
                             std::string_view versions = {});

// Replaces the file. Throws Io or DiskFull.
void save_calibration(const std::filesystem::path& home, const Calibration& calibration);

// Stores what a prepared program showed to be needed beside its arena, where that is more than was known. For
// every run on a GPU, so that a second estimate rests on a measurement. A file that can't be written is let
// be.
void keep_overhead(const std::filesystem::path& home, const DeviceInfo& device, const MemoryReport& memory);

}  // namespace lathe
