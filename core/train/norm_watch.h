// Watches the gradient norm of a run: how far above its running mean is this one?
#pragma once

#include <optional>

#include "core/config/run_config.h"
#include "core/train/checkpoint.h"

namespace lathe {

// Standard deviations by which `norm` lies above the running mean of log norms, when that exceeds
// guard.norm_zscore and enough norms were seen to judge; otherwise the norm joins the mean (an outlier
// teaches it nothing).
std::optional<double> judge_norm(const RunConfig::Guard& guard, TrainingProgress& progress, double norm);

// Norm above which the device must skip the update, known before it runs; 0: no limit.
double accepted_norm(const RunConfig::Guard& guard, const TrainingProgress& progress);

}  // namespace lathe
