// What was measured on one GPU: milliseconds of ops by shape, and what the driver and libraries take beside
// the arena. One small JSON file a GPU in the home folder; every profile adds to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/api/program.h"

namespace lathe {

// Two ops with the same key do the same work: kind, shapes, strides, dtypes and modes, never layer or phase.
std::string op_key(const StepProgram& program, const Op& op);

struct Calibration {
  std::string gpu;                      // the device's name; figures never pass to another
  std::string versions;                 // driver and libraries they hold for
  std::map<std::string, double> op_ms;  // by op_key
  // Wall time of a micro-step over the sum of its ops' times: below 1 where ops overlap, above where gaps
  // remain.
  double step_factor = 1;
  std::optional<int64_t> overhead_bytes;  // context, modules, handles: the process minus its arena

  bool empty() const { return op_ms.empty() && !overhead_bytes; }

  // Keeps the faster of two timings of one key: a disturbed run can only be slower.
  void add(const StepProgram& program, const Op& op, double ms);
};

std::filesystem::path calibration_path(const std::filesystem::path& home, std::string_view gpu);

// What is stored for this GPU; empty when there is nothing, when it is of other library versions or
// unreadable (then it will be measured anew). `versions` empty accepts any.
Calibration load_calibration(const std::filesystem::path& home, std::string_view gpu,
                             std::string_view versions = {});

// Replaces the file. Throws Io or DiskFull.
void save_calibration(const std::filesystem::path& home, const Calibration& calibration);

}  // namespace lathe
