// Gives every buffer an offset in one arena from its lifetime. The result is the estimate and the allocation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/api/program.h"

namespace lathe {

// First and last op of its sequence that touch a buffer; first = -1 when none does. Run and Group buffers
// live always.
struct LiveRange {
  int first = -1;
  int last = -1;
};

// By BufferId. Happens-before over one stream is op order; ops on further streams extend a range to the end.
std::vector<LiveRange> live_ranges(const StepProgram& program);

// Best of several greedy placements; deterministic. `seed` other than 0 shuffles the placement order instead:
// valid, larger, for tests that want the layout not to matter.
MemoryPlan plan_memory(const StepProgram& program, uint64_t seed = 0);

// Live bytes, rounded to the alignment, at each op of a sequence, persistent and group buffers included.
std::vector<int64_t> live_bytes(const StepProgram& program, SequenceId sequence);

// The smallest arena any plan could have: the largest live_bytes over all ops.
int64_t lower_bound_bytes(const StepProgram& program);

// Where the arena is fullest.
struct MemoryPeak {
  SequenceId sequence = SequenceId::MicroFirst;
  int op = 0;
  int64_t bytes = 0;
};
MemoryPeak memory_peak(const StepProgram& program);

// Bytes by role among the buffers live at one op; entries sum to live_bytes there.
std::vector<int64_t> bytes_by_role(const StepProgram& program, SequenceId sequence, int op);

// Bytes of activations and scratch that each layer holds at one op (last entry: outside the layers).
std::vector<int64_t> bytes_by_layer(const StepProgram& program, SequenceId sequence, int op);

// Largest live bytes while ops of each phase run (index: Phase).
std::vector<int64_t> peak_by_phase(const StepProgram& program);

int64_t aligned_bytes(int64_t bytes);

}  // namespace lathe
