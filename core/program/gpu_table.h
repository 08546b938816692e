// GPUs people plan for, also ones this machine doesn't have: memory and published peak rates.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/api/target.h"

namespace lathe {

struct GpuEntry {
  std::string_view name;   // as the driver calls it, without the maker: "GeForce RTX 5080"
  int64_t memory_bytes;    // what the driver reports as total is a little less
  int compute_capability;  // 120 for sm_120
  double bf16_tflops;      // dense BF16 products with FP32 sums, published peak
  double fp8_tflops;       // dense FP8, published peak; 0: the card has none
  double memory_gb_per_s;  // 1e9 bytes a second, published peak

  ExecutionTarget target() const { return {DeviceKind::Cuda, compute_capability, true}; }
};

// Smallest card first. Sources: NVIDIA's data sheets (Ampere, Ada, Hopper and Blackwell whitepapers).
std::span<const GpuEntry> gpu_table();

// The entry whose name is part of `device_name` ("NVIDIA GeForce RTX 5080"), or nullptr. The longest name
// wins: "RTX 5070 Ti" isn't "RTX 5070"; and a variant that isn't in the table has no entry.
const GpuEntry* find_gpu(std::string_view device_name);

// The entry a person means: "5080", "rtx 5080", "H200"; any case. Throws NotFound listing the table, or
// InvalidArgument when several match and none is the whole name.
const GpuEntry& match_gpu(std::string_view text);

}  // namespace lathe
