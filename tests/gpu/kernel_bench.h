// Benchmarks of the GPU tests: own kernels alone, and a whole training step op by op.
#pragma once

#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::test {

// Prints a row a kernel: bytes, time, the copy's time, and their ratio.
void bench_kernels(Backend& backend);

// Prints tokens/s of complete updates of a preset with the given settings ("memory.recompute=block"), memory,
// and the profile of a micro-step and of the update by op kind beside the floors.
void bench_step(Backend& backend, const std::string& preset, const std::vector<std::string>& settings);

}  // namespace lathe::test
