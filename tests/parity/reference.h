// What each op kind means, in FP64 and plain loops, straight from the formulas: the judge of every backend.
#pragma once

#include "kernels/api/program.h"
#include "tests/parity/op_case.h"

namespace lathe::test {

// Computes the op on `values` (by TensorId, logical order): reads its inputs and overwrites its outputs.
// Nothing is rounded, except that 8-bit codes, split remainders and stochastically rounded weights are what
// they are stored as.
void reference_op(const StepProgram& program, const Op& op, Values& values);

}  // namespace lathe::test
