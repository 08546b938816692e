// Norms per parameter group around one update.
#pragma once

#include <vector>

#include "core/history/metrics.h"
#include "kernels/api/backend.h"

namespace lathe {

// Up to 65,536 weights of each group, in 64 evenly spaced runs, as FP32 masters where there are any.
std::vector<std::vector<float>> sample_weights(const StepProgram& program, Executable& executable);

// Behind an update: weight and gradient norms of each group over all its values, and the update ratio over
// the sampled ones, `before` being sample_weights() from before the update. Rows lack their position.
std::vector<GroupRow> group_statistics(const StepProgram& program, Executable& executable,
                                       const std::vector<std::vector<float>>& before);

}  // namespace lathe
