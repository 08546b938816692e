// Runs side by side: what was set differently, and three outcomes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/history/history_store.h"

namespace lathe {

struct DifferingSetting {
  std::string key;
  std::vector<std::optional<std::string>> texts;  // one a run; nothing: the run didn't have that setting
};

struct RunOutcome {
  std::string id;
  std::string name;
  // Steady tokens/s (nominal, step only): median and interquartile range over the updates of every session
  // after its warm-up (the first 10 updates, or a tenth where a session is shorter than 100).
  std::optional<double> tokens_per_s_median;
  std::optional<double> tokens_per_s_spread;
  std::optional<int64_t> peak_memory_bytes;  // largest memory_process
  std::string memory_source;                 // "driver", "inferred", "host"
  std::optional<double>
      loss_at_equal_tokens;  // mean training loss of the (up to) 32 updates that end at equal_tokens
};

struct Comparison {
  // Only differences, in the order of the first run's settings. A run without any (a foreign log) has no say.
  std::vector<DifferingSetting> settings;
  std::vector<RunOutcome> outcomes;  // as asked
  // Tokens that all runs have seen: the smallest of their totals. Those that count none (0) have no say, and
  // no loss_at_equal_tokens.
  int64_t equal_tokens = 0;
};

// Ids as find() returns them. Reads each run's updates once.
Comparison compare_runs(const HistoryStore& store, const std::vector<std::string>& ids);

}  // namespace lathe
