// The CUDA backend: one device, its libraries, and the programs prepared on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/sdpa.h"

namespace lathe::cuda {

// What all programs of a device share. Owned by backend and executables together: libraries outlive both.
struct Device {
  int ordinal = 0;
  DeviceInfo info;
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  int64_t used_before_context = 0;  // device-wide, before this process had a context; 0: not known
  int64_t own_bytes = 0;            // what context and libraries took, before any program was prepared
  std::unique_ptr<Nvml> nvml;
  std::unique_ptr<GemmLibrary> gemm;
  std::unique_ptr<SdpaLibrary> sdpa;

  // GPU and library versions in one text: kernel choices hold for exactly this.
  std::string fingerprint() const;
};

class CudaBackend final : public Backend {
 public:
  // Throws Error Unsupported with the reason and what to do when this device can't be used.
  explicit CudaBackend(int ordinal);

  DeviceInfo device() const override;
  DeviceTelemetry telemetry() const override { return device_->nvml->telemetry(); }
  std::vector<std::string> refusals(const StepProgram& program) const override;
  std::unique_ptr<Executable> prepare(const StepProgram& program, const MemoryPlan& plan,
                                      const PrepareOptions& options) override;

 private:
  std::shared_ptr<Device> device_;
};

// False when this build carries no machine code that the current device can run.
bool kernels_run_here();

}  // namespace lathe::cuda
