// How a predicted speed comes about, for people and as JSON: the rates, where they are from, the time by kind
// of op.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/gpu_choice.h"
#include "core/program/estimate.h"

namespace lathe::cli {

// "calibrated: 97% of the time in shapes timed on it", "uncalibrated: from its specification".
std::string basis_text(const Estimate& estimate, const GpuChoice& gpu);

// Rates and a table of kinds; empty when nothing was predicted.
std::string speed_text(const Estimate& estimate, const GpuChoice& gpu, const CostModel& costs);

// The rates behind a prediction and their source.
nlohmann::ordered_json rates_json(const GpuChoice& gpu, const CostModel& costs);

}  // namespace lathe::cli
