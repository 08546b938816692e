#include "ui/forms/changes.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "core/config/config_text.h"
#include "core/config/setting_info.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

// Lathe's own search for the fastest recompute levels that fit.
constexpr const char* kSearched = "auto";

QString tr(const char* text) {
  return QCoreApplication::translate("Changes", text);
}

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
  if (batch.micro_batch > 2) {
    list.push_back({{"batch.micro_batch", "1"},
                    {"batch.accumulation", std::to_string(batch.accumulation * batch.micro_batch)}});
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

// A setting and its value in words.
struct Words {
  const char* key;
  const char* value;
  const char* text;
};
constexpr std::array kWords = {
    Words{"memory.recompute", "none", QT_TRANSLATE_NOOP("Changes", "recompute nothing")},
    Words{"memory.recompute", "norms", QT_TRANSLATE_NOOP("Changes", "recompute norms")},
    Words{"memory.recompute", "gate_up", QT_TRANSLATE_NOOP("Changes", "recompute gate/up")},
    Words{"memory.recompute", "qkv", QT_TRANSLATE_NOOP("Changes", "recompute Q/K/V")},
    Words{"memory.recompute", "attention_ffn", QT_TRANSLATE_NOOP("Changes", "recompute attention/FFN")},
    Words{"memory.recompute", "block", QT_TRANSLATE_NOOP("Changes", "recompute whole blocks")},
    Words{"memory.recompute", kSearched, QT_TRANSLATE_NOOP("Changes", "automatic recomputation")},
    Words{"optimizer.state", "8bit", QT_TRANSLATE_NOOP("Changes", "8-bit optimizer states")},
    Words{"optimizer.state", "bf16", QT_TRANSLATE_NOOP("Changes", "BF16 optimizer states")},
    Words{"optimizer.state", "fp32", QT_TRANSLATE_NOOP("Changes", "FP32 optimizer states")},
    Words{"precision.master", "split", QT_TRANSLATE_NOOP("Changes", "split master weights")},
    Words{"precision.master", "none", QT_TRANSLATE_NOOP("Changes", "no master weights")},
    Words{"precision.master", "fp32", QT_TRANSLATE_NOOP("Changes", "FP32 master weights")},
    Words{"precision.gradients", "bf16", QT_TRANSLATE_NOOP("Changes", "BF16 gradients")},
    Words{"precision.gradients", "fp32", QT_TRANSLATE_NOOP("Changes", "FP32 gradients")},
};

QString words_of(const std::string& key, const std::string& value) {
  const auto found = std::ranges::find_if(
      kWords, [&](const Words& words) { return words.key == key && words.value == value; });
  if (found != kWords.end()) return tr(found->text);
  const QString number = count_text(std::stoll(value));
  return key == "batch.micro_batch" ? tr("micro-batch %1").arg(number)
                                    : tr("loss in chunks of %1 tokens").arg(number);
}

// The change that `assignments` make, estimated; nothing when they are no valid combination or no change.
std::optional<ProposedChange> try_change(const Assessment& now, const Assignments& assignments) {
  ProposedChange change;
  change.assignments = assignments;
  change.config = now.config;
  RunConfig resolved = now.resolved;
  Estimate after;
  try {
    for (const auto& [key, value] : assignments) {
      set_text(change.config, key, value);
      set_text(resolved, key, value);
    }
    if (resolved == now.resolved || change.config == now.config) return std::nullopt;
    after = estimate(resolved, estimate_request(resolved, now.device));
  } catch (const Error&) {
    return std::nullopt;
  }
  change.memory_bytes = after.process_bytes() - now.estimate.process_bytes();
  change.work = after.executed_flops_per_token / now.estimate.executed_flops_per_token - 1;
  if (now.estimate.tokens_per_s > 0) change.speed = after.tokens_per_s / now.estimate.tokens_per_s - 1;
  change.changes_maths = alters_maths(assignments, now.config);
  change.verdict = after.verdict;
  return change;
}

// Several changes of different settings at once, as their single estimates add up.
struct Combination {
  std::vector<const ProposedChange*> parts;
  int64_t memory_bytes = 0;
  int maths = 0;    // of the parts, how many change it
  double cost = 0;  // of speed, else of work

  Combination with(const ProposedChange& part) const {
    Combination next = *this;
    next.parts.push_back(&part);
    next.memory_bytes += part.memory_bytes;
    next.maths += part.changes_maths ? 1 : 0;
    next.cost += part.speed != 0 ? -part.speed : part.work;
    return next;
  }
  // Whole percents: nobody changes one setting more for less.
  auto order() const { return std::tuple(maths, std::lround(cost * 100), parts.size(), memory_bytes); }
};

// The cheapest set of `singles` that fits: every choice of at most one for each setting is priced by adding
// up, and the cheapest are estimated until one fits. Savings overlap, so that more than the sum may be
// needed.
std::optional<ProposedChange> cheapest_set(const Assessment& now, const std::vector<ProposedChange>& singles,
                                           const std::function<bool()>& cancelled) {
  constexpr int kTries = 40;
  std::map<std::string, std::vector<const ProposedChange*>> by_setting;
  for (const ProposedChange& single : singles)
    by_setting[single.assignments.front().first].push_back(&single);
  std::vector<Combination> sets = {{}};
  for (const auto& [key, choices] : by_setting) {
    const size_t before = sets.size();
    for (size_t i = 0; i < before; ++i) {
      for (const ProposedChange* choice : choices) sets.push_back(sets[i].with(*choice));
    }
  }
  const int64_t too_much = now.estimate.process_bytes() - now.estimate.budget_bytes;
  std::erase_if(sets,
                [&](const Combination& set) { return set.parts.size() < 2 || set.memory_bytes > -too_much; });
  std::ranges::sort(sets, {}, &Combination::order);
  for (size_t i = 0; i < std::min<size_t>(sets.size(), kTries); ++i) {
    // The last try is the set that saves the most, whatever it costs.
    const Combination& set =
        i + 1 < kTries ? sets[i] : std::ranges::min(sets, {}, &Combination::memory_bytes);
    if (cancelled && cancelled()) return std::nullopt;
    Assignments assignments;
    for (const ProposedChange* part : set.parts)
      assignments.insert(assignments.end(), part->assignments.begin(), part->assignments.end());
    std::optional<ProposedChange> change = try_change(now, assignments);
    if (!change || change->verdict == Verdict::DoesNotFit) continue;
    change->combined = true;
    return change;
  }
  return std::nullopt;
}

}  // namespace

QString change_text(const ProposedChange& change) {
  QStringList parts;
  for (const auto& [key, value] : change.assignments) {
    if (key == "batch.accumulation") {  // belongs to the micro-batch before it
      parts.back() += QStringLiteral(" × ") + count_text(std::stoll(value));
    } else {
      parts << words_of(key, value);
    }
  }
  QString text = parts.join(QStringLiteral(" + "));
  text.front() = text.front().toUpper();
  return text;
}

std::vector<ProposedChange> propose_changes(const Assessment& now, const std::function<bool()>& cancelled) {
  std::vector<ProposedChange> changes;
  const bool over = now.estimate.verdict == Verdict::DoesNotFit;
  const int64_t least_bytes = std::max<int64_t>(now.estimate.process_bytes() / 200, 1);  // 0.5%
  for (const Assignments& assignments : candidates(now.resolved)) {
    if (cancelled && cancelled()) return {};
    const std::optional<ProposedChange> change = try_change(now, assignments);
    if (!change) continue;
    const bool fits = change->verdict != Verdict::DoesNotFit;
    const bool saves_memory = change->memory_bytes < -least_bytes;
    const bool saves_work = change->work < -0.001 || change->speed > 0.002;
    const bool bigger_step = change->config.batch.micro_batch > now.config.batch.micro_batch;
    if (over ? saves_memory || fits : fits && (saves_memory || saves_work || bigger_step))
      changes.push_back(*change);
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
  const bool one_fits = std::ranges::any_of(
      changes, [](const ProposedChange& change) { return change.verdict != Verdict::DoesNotFit; });
  if (over && !one_fits) {
    if (std::optional<ProposedChange> set = cheapest_set(now, changes, cancelled))
      changes.insert(changes.begin(), std::move(*set));
  }
  return changes;
}

}  // namespace lathe::ui
