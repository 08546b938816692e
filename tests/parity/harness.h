// Runs one case on a backend and on the reference, and says what differs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "tests/parity/op_case.h"

namespace lathe::test {

struct ParityOptions {
  PrepareOptions prepare;
  // Roundings to BF16 that attention makes on the way besides the one of its results: 0 when probabilities
  // stay FP32; tensor-core kernels round probabilities, their gradients and what they recompute from.
  int attention_roundings = 0;
  // The same of a weight gradient that accumulates into BF16: 1 where the product is rounded before it is
  // added, as matrix libraries do that add in memory.
  int accumulate_roundings = 0;
};

struct ParityReport {
  std::string failure;     // empty: passed. Else case, operand, error and bound, or what was touched.
  std::string refusal;     // the backend says in words that it can't run the case
  double worst_ratio = 0;  // largest error / bound over the outputs
};

// Every buffer's bytes after a run, guards included, by BufferId. Guards and gaps are filled with a pattern
// before, outputs with NaN.
std::vector<std::vector<std::byte>> run_case(Backend& backend, const OpCase& test,
                                             const PrepareOptions& options);

// Runs the case twice and checks: results within bounds of the reference, equal bits in both runs, inputs and
// all bytes between and around tensors untouched.
//
// Bounds on ||result - reference|| / ||reference||: FP64 1e-12, FP32 1e-5. BF16 keeps 8 significant bits, so
// one rounding errs by at most 2^-8 of a value, and by under 2^-9 root-mean-square over many: 2^-9 for
// results of 4096 elements and more, 2^-8 for smaller ones, per rounding. What only moves is exact.
ParityReport run_parity(Backend& backend, const OpCase& test, const ParityOptions& options = {});

}  // namespace lathe::test
