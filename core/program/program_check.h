// Proves that a program and its plan are sound: operands complete, nothing read before it is written, no two
// live buffers overlap. Tests run it on every configuration they build.
#pragma once

#include <string>
#include <vector>

#include "kernels/api/program.h"

namespace lathe {

// Findings in words; empty: sound. Checks operand counts and modes, bounds of views, writes before reads
// (byte by byte for Lifetime::Sequence buffers), and what a replayed op claims to replay.
std::vector<std::string> check_program(const StepProgram& program);

// Findings in words; empty: sound. Offsets aligned and inside the arena, no overlap among buffers live
// together.
std::vector<std::string> check_plan(const StepProgram& program, const MemoryPlan& plan);

}  // namespace lathe
