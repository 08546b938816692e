// The rules between settings (rules.cpp); validate() runs them after the range checks.
#pragma once

#include <vector>

#include "core/config/validate.h"

namespace lathe {

// Appends what breaks a rule between settings. A rule is silent when a setting it reads already has a
// problem: it would only repeat that one, or divide by its zero.
void check_rules(const RunConfig& config, std::vector<Problem>& problems);

// Appends what keeps a sound configuration from being trained: no data, no end.
void check_training(const RunConfig& config, std::vector<Problem>& problems);

}  // namespace lathe
