// Whether a configuration makes sense: all problems at once, each naming its setting, the reason and the way
// out.
#pragma once

#include <string>
#include <vector>

#include "core/config/run_config.h"

namespace lathe {

struct Problem {
  std::string key;      // the setting to look at; when several take part, the one most likely to change
  std::string message;  // what is wrong, with the values: "heads (16) is not a multiple of kv_heads (5)."
  std::string advice;   // what to do: "Choose 1, 2, 4, 8 or 16 key/value heads."

  bool operator==(const Problem&) const = default;
};

enum class Purpose {
  Estimate,  // settings agree with each other: enough to build, plan and estimate
  Train      // and the run has data to train on and a known end
};

// Ranges of single settings and the rules between them. Empty: valid. Never throws on any field values.
std::vector<Problem> validate(const RunConfig& config, Purpose purpose = Purpose::Estimate);

// Throws InvalidConfig listing every problem.
void require_valid(const RunConfig& config, Purpose purpose = Purpose::Estimate);

}  // namespace lathe
