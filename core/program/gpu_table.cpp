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

// GeForce: multiprocessors × boost clock × 512 FLOP (FP8: 1024), as the whitepapers give it for one card of
// each generation.
constexpr std::array kGpus = {
    GpuEntry{"GeForce RTX 4060", gib(8), 89, 30.2, 60.4, 272},
    GpuEntry{"GeForce RTX 3060", gib(12), 86, 25.5, 0, 360},
    GpuEntry{"GeForce RTX 4070", gib(12), 89, 58.3, 116.6, 504},
    GpuEntry{"GeForce RTX 5070", gib(12), 120, 61.7, 123.5, 672},
    GpuEntry{"GeForce RTX 5060 Ti", gib(16), 120, 47, 95, 448},
    GpuEntry{"GeForce RTX 4060 Ti", gib(16), 89, 44.1, 88.3, 288},
    GpuEntry{"GeForce RTX 4070 Ti SUPER", gib(16), 89, 88.2, 176.4, 672},
    GpuEntry{"GeForce RTX 4080", gib(16), 89, 97.5, 194.9, 717},
    GpuEntry{"GeForce RTX 5070 Ti", gib(16), 120, 88, 176, 896},
    GpuEntry{"GeForce RTX 5080", gib(16), 120, 112.6, 225, 960},
    GpuEntry{"GeForce RTX 3090", gib(24), 86, 71.2, 0, 936},
    GpuEntry{"GeForce RTX 4090", gib(24), 89, 165, 330, 1008},
    GpuEntry{"GeForce RTX 5090", gib(32), 120, 209.5, 419, 1792},
    GpuEntry{"A100", gib(80), 80, 312, 0, 2039},
    GpuEntry{"H100", gib(80), 90, 989, 1979, 3350},
    GpuEntry{"H200", gib(141), 90, 989, 1979, 4800},
};

constexpr std::array<std::string_view, 5> kVariants = {" Ti", " SUPER", " D", " Laptop", " Mobile"};

}  // namespace

std::span<const GpuEntry> gpu_table() {
  return kGpus;
}

const GpuEntry* find_gpu(std::string_view device_name) {
  const GpuEntry* found = nullptr;
  for (const GpuEntry& gpu : kGpus) {
    const size_t at = device_name.find(gpu.name);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = device_name.substr(at + gpu.name.size());
    // "RTX 4070 SUPER" is another card than "RTX 4070".
    if (std::ranges::any_of(kVariants, [&](std::string_view word) { return rest.starts_with(word); }))
      continue;
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
