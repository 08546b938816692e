#include "core/history/compare.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "core/history/run_reader.h"

namespace lathe {
namespace {

std::vector<DifferingSetting> different_settings(const std::vector<RunDetails>& runs) {
  std::vector<std::map<std::string, std::string>> texts;
  std::vector<std::string> keys;  // in the order of the first run, then what only later ones have
  std::set<std::string> seen;
  for (const RunDetails& run : runs) {
    texts.emplace_back(run.settings.begin(), run.settings.end());
    for (const auto& [key, value] : run.settings) {
      if (seen.insert(key).second) keys.push_back(key);
    }
  }
  std::vector<DifferingSetting> differences;
  for (const std::string& key : keys) {
    DifferingSetting difference{key, {}};
    for (const auto& settings : texts) {
      const auto found = settings.find(key);
      difference.texts.push_back(found == settings.end() ? std::nullopt : std::optional(found->second));
    }
    std::set<std::optional<std::string>> kinds;
    for (size_t run = 0; run < runs.size(); ++run) {
      if (!texts[run].empty()) kinds.insert(difference.texts[run]);  // else nothing is known of that run
    }
    if (kinds.size() > 1) differences.push_back(std::move(difference));
  }
  return differences;
}

// Linear interpolation between order statistics, as NumPy's default.
double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

// The speeds of one session, its warm-up left out.
void append_steady(std::vector<double>& steady, const std::vector<double>& session) {
  const size_t warm_up = session.size() < 100 ? session.size() / 10 : 10;
  steady.insert(steady.end(), session.begin() + static_cast<std::ptrdiff_t>(warm_up), session.end());
}

void read_outcome(const RunReader& reader, int64_t equal_tokens, RunOutcome& outcome) {
  constexpr size_t loss_window = 32;
  std::vector<double> steady, session_speeds;
  std::deque<double> losses;
  int64_t session = 0;
  RowScan scan;
  scan.metrics = {"tokens_per_s", "memory_process", "loss"};
  reader.scan(scan, [&](const StoredRow& row) {
    if (row.session != session) {
      append_steady(steady, session_speeds);
      session_speeds.clear();
      session = row.session;
    }
    if (row.values[0] && std::isfinite(*row.values[0])) session_speeds.push_back(*row.values[0]);
    if (row.values[1] && std::isfinite(*row.values[1])) {
      const auto bytes = static_cast<int64_t>(*row.values[1]);
      outcome.peak_memory_bytes = std::max(outcome.peak_memory_bytes.value_or(bytes), bytes);
    }
    if (row.values[2] && row.position.tokens > 0 && row.position.tokens <= equal_tokens) {
      losses.push_back(*row.values[2]);
      if (losses.size() > loss_window) losses.pop_front();
    }
  });
  append_steady(steady, session_speeds);
  if (!steady.empty()) {
    std::ranges::sort(steady);
    outcome.tokens_per_s_median = quantile(steady, 0.5);
    outcome.tokens_per_s_spread = quantile(steady, 0.75) - quantile(steady, 0.25);
  }
  if (!losses.empty()) {
    double sum = 0;
    for (const double loss : losses) sum += loss;
    outcome.loss_at_equal_tokens = sum / static_cast<double>(losses.size());
  }
}

}  // namespace

Comparison compare_runs(const HistoryStore& store, const std::vector<std::string>& ids) {
  std::vector<RunDetails> runs;
  for (const std::string& id : ids) runs.push_back(store.details(id));
  Comparison comparison;
  comparison.settings = different_settings(runs);
  for (const RunDetails& run : runs) {
    if (run.tokens > 0 && (comparison.equal_tokens == 0 || run.tokens < comparison.equal_tokens))
      comparison.equal_tokens = run.tokens;
  }
  for (const RunDetails& run : runs) {
    RunOutcome outcome;
    outcome.id = run.id;
    outcome.name = run.name;
    outcome.memory_source = run.memory_source;
    read_outcome(*store.open_reader(run.id), comparison.equal_tokens, outcome);
    comparison.outcomes.push_back(std::move(outcome));
  }
  return comparison;
}

}  // namespace lathe
