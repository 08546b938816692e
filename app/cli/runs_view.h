// Runs as text for people and as JSON for scripts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/history/compare.h"
#include "core/history/history_store.h"

namespace lathe::cli {

// "2026-01-31 12:34:56" in the local time zone, from ms since 1970 (UTC).
std::string local_time(int64_t wall_ms);
// "2 d 03 h", "1 h 05 min", "4 min 12 s", "7.3 s".
std::string duration(int64_t ms);
// 1.23M, 65.5k: powers of 1000.
std::string count_text(int64_t count);

nlohmann::ordered_json to_json(const RunSummary& run);
nlohmann::ordered_json to_json(const RunDetails& run, const std::vector<CheckpointRow>& checkpoints);
nlohmann::ordered_json to_json(const Comparison& comparison);

std::string list_text(const std::vector<RunSummary>& runs);
std::string details_text(const RunDetails& run, const std::vector<CheckpointRow>& checkpoints,
                         const RunReader* reader);
std::string comparison_text(const Comparison& comparison);

}  // namespace lathe::cli
