#include "ui/forms/changes.h"

#include <algorithm>
#include <utility>

#include "core/config/config_text.h"
#include "core/config/setting_info.h"
#include "kernels/api/error.h"

namespace lathe::ui {
namespace {

// Lathe's own search for the fastest recompute levels that fit.
constexpr const char* kSearched = "auto";

using Assignments = std::vector<std::pair<std::string, std::string>>;

std::vector<Assignments> candidates(const RunConfig& config) {
  std::vector<Assignments> list;
  const auto set = [&](std::string key, std::string value) {
    list.push_back({{std::move(key), std::move(value)}});
  };
  for (const std::string_view level : choice_names(RecomputeLevel{}))
    set("memory.recompute", std::string(level));
  set("memory.recompute", kSearched);
  for (const char* state : {"8bit", "bf16", "fp32"}) set("optimizer.state", state);
  if (config.precision.weights == Storage::Bf16) {
    for (const char* master : {"split", "none", "fp32"}) set("precision.master", master);
  }
  for (const char* gradients : {"bf16", "fp32"}) set("precision.gradients", gradients);
  set("memory.loss_chunk_tokens", "1024");
  // Same tokens an update: the maths stays, only how it is cut changes.
  const RunConfig::Batch& batch = config.batch;
  if (batch.micro_batch % 2 == 0) {
    list.push_back({{"batch.micro_batch", std::to_string(batch.micro_batch / 2)},
                    {"batch.accumulation", std::to_string(batch.accumulation * 2)}});
  }
  if (batch.accumulation % 2 == 0) {
    list.push_back({{"batch.micro_batch", std::to_string(batch.micro_batch * 2)},
                    {"batch.accumulation", std::to_string(batch.accumulation / 2)}});
  }
  return list;
}

// Whether the update differs beyond rounding: a different storage does; a different cut of the window
// doesn't, nor does splitting the master, which keeps every bit of it.
bool alters_maths(const Assignments& assignments, const RunConfig& now) {
  return std::any_of(assignments.begin(), assignments.end(), [&](const auto& assignment) {
    const auto& [key, value] = assignment;
    if (key.starts_with("batch.")) return false;
    if (key == "precision.master" && value != "none" && now.precision.master != Master::None) return false;
    return (require_setting(key).affects & kMaths) != 0;
  });
}

std::string name_of(const Assignments& assignments) {
  std::string name;
  for (const auto& [key, value] : assignments) {
    name += (name.empty() ? "" : ", ") + std::string(require_setting(key).label) + " " + value;
  }
  return name;
}

}  // namespace

std::vector<ProposedChange> propose_changes(const Assessment& now, const std::function<bool()>& cancelled) {
  std::vector<ProposedChange> changes;
  const bool over = now.estimate.verdict == Verdict::DoesNotFit;
  const int64_t least_bytes = std::max<int64_t>(now.estimate.process_bytes() / 200, 1);  // 0.5%
  for (const Assignments& assignments : candidates(now.resolved)) {
    if (cancelled && cancelled()) return {};
    ProposedChange change;
    change.config = now.config;
    RunConfig resolved = now.resolved;
    Estimate after;
    try {
      for (const auto& [key, value] : assignments) {
        set_text(change.config, key, value);
        set_text(resolved, key, value);
      }
      if (resolved == now.resolved || change.config == now.config) continue;
      after = estimate(resolved, estimate_request(resolved, now.device));
    } catch (const Error&) {
      continue;  // not a valid combination: nothing to offer
    }
    change.name = name_of(assignments);
    change.memory_bytes = after.process_bytes() - now.estimate.process_bytes();
    change.work = after.executed_flops_per_token / now.estimate.executed_flops_per_token - 1;
    if (now.estimate.tokens_per_s > 0) change.speed = after.tokens_per_s / now.estimate.tokens_per_s - 1;
    change.changes_maths = alters_maths(assignments, now.config);
    change.verdict = after.verdict;
    const bool saves_memory = change.memory_bytes < -least_bytes;
    const bool saves_work = change.work < -0.001 || change.speed > 0.002;
    const bool bigger_step = change.config.batch.micro_batch > now.config.batch.micro_batch;
    const bool mends = over && change.verdict != Verdict::DoesNotFit;
    if (over ? saves_memory || mends
             : change.verdict != Verdict::DoesNotFit && (saves_memory || saves_work || bigger_step)) {
      changes.push_back(std::move(change));
    }
  }
  // Same maths before other maths; what makes it fit, then what is fastest, then less work, then less memory.
  std::stable_sort(changes.begin(), changes.end(), [&](const ProposedChange& a, const ProposedChange& b) {
    const bool a_fits = a.verdict != Verdict::DoesNotFit, b_fits = b.verdict != Verdict::DoesNotFit;
    if (a.changes_maths != b.changes_maths) return !a.changes_maths;
    if (a_fits != b_fits) return a_fits;
    if (a.speed != b.speed) return a.speed > b.speed;
    if (a.work != b.work) return a.work < b.work;
    return a.memory_bytes < b.memory_bytes;
  });
  return changes;
}

}  // namespace lathe::ui
