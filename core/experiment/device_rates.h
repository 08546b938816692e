// What a device really reaches: matrix products, attention, memory-bound work and copies, each a small step
// program of one op repeated, run on the backend as training runs it.
#pragma once

#include "core/program/calibration.h"
#include "kernels/api/backend.h"

namespace lathe {

struct DeviceRates {
  GpuRates rates;                             // as the cost model and MFU take them
  double to_device_bytes_per_s = 0;           // host memory to device
  double to_host_bytes_per_s = 0;             // and back
  MemoryReport memory;                        // with every library loaded: holds the fixed overhead
  std::string matrix_shape, attention_shape;  // what was timed, in words
};

// Times each op for at least `seconds`, since a GPU that has just woken up runs above its sustained clocks;
// the median of the second half counts. BF16 on a GPU, FP32 on the CPU. Needs about 0.8 GiB of GPU memory.
// Throws what Backend::prepare throws.
DeviceRates measure_rates(Backend& backend, double seconds);

}  // namespace lathe
