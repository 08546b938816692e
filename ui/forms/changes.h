// Single changes to a configuration, each with what it saves and what it costs, from estimates of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ui/forms/assessment.h"

namespace lathe::ui {

struct ProposedChange {
  std::string name;  // settings in text form: "memory.recompute = gate_up"
  RunConfig config;
  int64_t memory_bytes = 0;    // of the process; negative: saves
  double speed = 0;            // predicted tokens/s, as a fraction of before; 0 where nothing predicts it
  double work = 0;             // executed FLOPs a token, as a fraction of before: +0.12 is 12% more
  bool changes_maths = false;  // beyond rounding of the same update
  Verdict verdict = Verdict::Unknown;
};

// The changes worth looking at: when it doesn't fit, those that save memory; when it does, those that use
// what is left to save work. Best first. Estimates about ten configurations, 20 ms each; `cancelled` is asked
// between.
std::vector<ProposedChange> propose_changes(const Assessment& now,
                                            const std::function<bool()>& cancelled = {});

}  // namespace lathe::ui
