#include "core/program/gpu_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "kernels/api/error.h"

namespace lathe {
namespace {

constexpr int64_t gib(int64_t count) {
  return count << 30;
}

constexpr std::array kGpus = {
    GpuEntry{"GeForce RTX 5060 Ti", gib(16), 120, 47, 95, 448},
    GpuEntry{"GeForce RTX 5070 Ti", gib(16), 120, 88, 176, 896},
    GpuEntry{"GeForce RTX 5080", gib(16), 120, 112.6, 225, 960},
    GpuEntry{"GeForce RTX 4090", gib(24), 89, 165, 330, 1008},
    GpuEntry{"GeForce RTX 5090", gib(32), 120, 209.5, 419, 1792},
    GpuEntry{"H100", gib(80), 90, 989, 1979, 3350},
    GpuEntry{"H200", gib(141), 90, 989, 1979, 4800},
};

}  // namespace

std::span<const GpuEntry> gpu_table() {
  return kGpus;
}

const GpuEntry* find_gpu(std::string_view device_name) {
  const GpuEntry* found = nullptr;
  for (const GpuEntry& gpu : kGpus) {
    if (device_name.find(gpu.name) == std::string_view::npos) continue;
    if (!found || gpu.name.size() > found->name.size()) found = &gpu;
  }
  return found;
}

const GpuEntry& match_gpu(std::string_view text) {
  const auto lower = [](std::string_view value) {
    std::string result(value);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
  };
  const std::string wanted = lower(text);
  std::string known;
  const GpuEntry* found = nullptr;
  bool several = false;
  for (const GpuEntry& gpu : kGpus) {
    const std::string name = lower(gpu.name);
    known += (known.empty() ? "" : ", ") + std::string(gpu.name);
    const bool whole = name == wanted || (name.size() > wanted.size() && name.ends_with(" " + wanted));
    if (whole) return gpu;
    if (wanted.empty() || name.find(wanted) == std::string::npos) continue;
    several = found != nullptr;
    found = &gpu;
  }
  if (several) {
    throw Error(ErrorCode::InvalidArgument, "Several GPUs are called '" + std::string(text) + "'.",
                "Choose one of: " + known + ".");
  }
  if (!found) {
    throw Error(ErrorCode::NotFound, "No GPU called '" + std::string(text) + "' is in the table.",
                "Choose one of: " + known + ".");
  }
  return *found;
}

}  // namespace lathe
