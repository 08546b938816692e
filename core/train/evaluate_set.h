// The loss of a validation set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/data/validation_set.h"
#include "kernels/api/backend.h"

namespace lathe {

struct SetLoss {
  double loss = 0;  // nats a token over the valid tokens; NaN when there are none
  int64_t valid_tokens = 0;
};

// Runs Evaluate over the set's windows, `rows` at a time, two runs ahead of the device. `before_each(batch
// number, from 1)` returning false ends it without a result.
std::optional<SetLoss> evaluate_set(const StepProgram& program, Executable& executable,
                                    const ValidationSet& set, int64_t rows,
                                    const std::function<bool(int64_t)>& before_each);

}  // namespace lathe
