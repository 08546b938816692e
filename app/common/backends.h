// The devices this build can train on.
#pragma once

#include "kernels/api/backend.h"

namespace lathe {

// The GPU first, then the CPU; one that can't be used stands there with the reason. Never throws.
BackendRegistry make_backends();

// The CPU alone, for commands that must not touch a driver.
BackendRegistry make_cpu_backends();

}  // namespace lathe
