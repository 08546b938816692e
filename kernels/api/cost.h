// What an op costs: floating-point operations, bytes, and the unit that does the work. Feeds the estimate,
// the profiler's floors and MFU.
#pragma once

#include <cstdint>

#include "kernels/api/program.h"

namespace lathe {

enum class Unit : uint8_t { Matrix, Attention, Memory };

struct OpCost {
  double model_flops = 0;     // counted for MFU: 0 for recomputed ops and for the update
  double executed_flops = 0;  // counted for HFU; causal attention counted half (the masked half is skipped)
  double bytes = 0;           // each operand read once, each result written once
  Unit unit = Unit::Memory;
};

// Multiply-adds count two. Attention: forward 2·B·H·T²·D (half of 4·B·H·T²·D), backward 2.5 times that
// executed, twice that in the model (PaLM appendix B's convention with causal halves).
OpCost op_cost(const StepProgram& program, const Op& op);

}  // namespace lathe
