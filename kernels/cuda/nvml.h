// What NVML, loaded at run time, says about the device: its sensors, and the only true figure of a process's
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/api/backend.h"
#include "kernels/cuda/shared_library.h"

namespace lathe::cuda {

class Nvml {
 public:
  // `pci_bus_id` as CUDA names the device ("0000:65:00.0"). Without NVML every question answers nullopt.
  explicit Nvml(const std::string& pci_bus_id);

  std::optional<int64_t> process_bytes() const;  // of this process; nullopt where the system reports none
  std::optional<int64_t> used_bytes() const;     // of all processes
  std::string driver_version() const;            // "580.95.05", or empty

  // Utilisation, temperature, power, clocks, throttle reasons and memory. NVML may be asked from any thread.
  DeviceTelemetry telemetry() const;

 private:
  SharedLibrary library_;
  void* device_ = nullptr;
};

}  // namespace lathe::cuda
