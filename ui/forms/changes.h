// Changes to a configuration, each with what it saves and what it costs, from estimates of its own; and the
// cheapest set of them that makes it fit.
#pragma once

#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/forms/assessment.h"

namespace lathe::ui {

// Settings by key, in text form: {"memory.recompute", "gate_up"}.
using Assignments = std::vector<std::pair<std::string, std::string>>;

struct ProposedChange {
  Assignments assignments;
  RunConfig config;            // with them
  int64_t memory_bytes = 0;    // of the process; negative: saves
  double speed = 0;            // predicted tokens/s, as a fraction of before; 0 where nothing predicts it
  double work = 0;             // executed FLOPs a token, as a fraction of before: +0.12 is 12% more
  bool changes_maths = false;  // beyond rounding of the same update
  Verdict verdict = Verdict::Unknown;
  bool combined = false;  // several changes, the cheapest set that fits
};

// In words: "8-bit optimizer states + recompute gate/up".
QString change_text(const ProposedChange& change);

// The changes worth looking at: when it doesn't fit, those that save memory, and on top the cheapest set of
// them that fits when none does alone; when it does, those that use what is left to save work. Best first.
// Estimates a few dozen configurations, 20 ms each; `cancelled` is asked between.
std::vector<ProposedChange> propose_changes(const Assessment& now,
                                            const std::function<bool()>& cancelled = {});

}  // namespace lathe::ui
