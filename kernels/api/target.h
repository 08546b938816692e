// What a program is built for. Workspaces are planned from formulas that need no device, so that an estimate
// can be made for a GPU that isn't there.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/api/program.h"

namespace lathe {

enum class DeviceKind : uint8_t { Cpu, Cuda };

struct ExecutionTarget {
  DeviceKind kind = DeviceKind::Cpu;
  int compute_capability = 0;  // CUDA: 90 for sm_90, 120 for sm_120; 0 = not known, planned for the largest
  bool deterministic = true;
};

// Bytes of workspace this op may use on the target; 0 = none. A backend picks only algorithms that fit.
int64_t workspace_bytes(const ExecutionTarget& target, const StepProgram& program, const Op& op);

}  // namespace lathe
