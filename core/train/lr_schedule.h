// The learning rate of each update.
#pragma once

#include <cstdint>

#include "core/config/run_config.h"

namespace lathe {

// Rate of the update after `updates` updates and `tokens` tokens are done (0 and 0 before the first), before
// any group's factor. Positions count in schedule.unit; the update's own end decides, so that update 1 of a
// warm-up of 100 has lr/100 and update 100 the whole lr.
//   warm-up   lr · p/warmup
//   constant  lr
//   cosine    lr · (f + (1-f)·(1+cos(π·q))/2), q from the end of warm-up to the end of the schedule
//   linear    lr · (1 - (1-f)·q)
//   wsd       lr until `decay` before the end, then linear to f·lr (Hu et al. 2024, MiniCPM)
// Beyond the end the final rate stays. A run without known length keeps lr after warm-up.
double learning_rate(const RunConfig& config, int64_t updates, int64_t tokens);

}  // namespace lathe
