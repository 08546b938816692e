// What NVML, loaded at run time, says about memory: the only source for a process's true device memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/cuda/shared_library.h"

namespace lathe::cuda {

class Nvml {
 public:
  // `pci_bus_id` as CUDA names the device ("0000:65:00.0"). Without NVML every question answers nullopt.
  explicit Nvml(const std::string& pci_bus_id);

  std::optional<int64_t> process_bytes() const;  // of this process; nullopt where the system reports none
  std::optional<int64_t> used_bytes() const;     // of all processes
  std::string driver_version() const;            // "580.95.05", or empty

 private:
  SharedLibrary library_;
  void* device_ = nullptr;
};

}  // namespace lathe::cuda
