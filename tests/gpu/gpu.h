// The GPU of these tests, and what a test without one says.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cuda/cuda_backend.h"

namespace lathe::test {

// Opened once a process: the CUDA context is.
inline const BackendEntry& gpu() {
  static const BackendEntry entry = cuda_backend_entry();
  return entry;
}

}  // namespace lathe::test

#define LATHE_NEEDS_GPU() \
  if (!lathe::test::gpu().backend) GTEST_SKIP() << "*** NOT RUN, no GPU: " << lathe::test::gpu().unavailable
