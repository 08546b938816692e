// The yardstick of memory-bound kernels: a plain copy that moves the same bytes.
#pragma once

#include <cstdint>

namespace lathe::test {

// Microseconds of a copy kernel that reads and writes bytes_moved / 2 each: median of graph replays that
// rotate over buffers of more than four times the L2 cache. Throws Error when CUDA fails.
double copy_microseconds(int64_t bytes_moved);

}  // namespace lathe::test
