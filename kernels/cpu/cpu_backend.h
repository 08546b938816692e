// The CPU backend: the reference that proves a program's maths, and what runs the small presets without a
// GPU.
#pragma once

#include <memory>

#include "kernels/api/backend.h"

namespace lathe {

// Runs FP32 and FP64 programs, and BF16 programs with FP32 arithmetic (a load widens, a store rounds to
// nearest even). Runs are synchronous, on the caller's thread and the pool of PrepareOptions::threads. The
// same program gives the same bits for any number of threads on one kind of processor. All 24 op kinds are
// supported.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace lathe
