// Which column of a foreign log means what: the targets there are, and a guess from names and magnitudes.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/history/foreign_log.h"

namespace lathe {
namespace {

// Names loggers use, in lower case without punctuation. A column's name counts with and without a leading
// "train/", "perf." and the like.
struct Alias {
  std::string_view target;
  std::string_view name;
};
constexpr std::array aliases = {
    Alias{"step", "step"},
    Alias{"step", "globalstep"},
    Alias{"step", "iter"},
    Alias{"step", "iteration"},
    Alias{"step", "update"},
    Alias{"step", "updates"},
    Alias{"step", "steps"},
    Alias{"step", "trainerglobalstep"},
    Alias{"tokens", "tokens"},
    Alias{"tokens", "tokensseen"},
    Alias{"tokens", "totaltokens"},
    Alias{"tokens", "numtokens"},
    Alias{"tokens", "numinputtokensseen"},
    Alias{"tokens", "consumedtokens"},
    Alias{"time", "time"},
    Alias{"time", "timems"},
    Alias{"time", "timestamp"},
    Alias{"time", "walltime"},
    Alias{"time", "date"},
    Alias{"time", "datetime"},
    Alias{"active", "activems"},
    Alias{"active", "runtime"},
    Alias{"active", "elapsed"},
    Alias{"active", "elapsedtime"},
    Alias{"active", "relativetime"},
    Alias{"loss", "loss"},
    Alias{"loss", "trainloss"},
    Alias{"loss", "trainingloss"},
    Alias{"loss", "lmloss"},
    Alias{"loss", "celoss"},
    Alias{"eval_loss", "evalloss"},
    Alias{"eval_loss", "valloss"},
    Alias{"eval_loss", "validloss"},
    Alias{"eval_loss", "validationloss"},
    Alias{"eval_loss", "testloss"},
    Alias{"lr", "lr"},
    Alias{"lr", "learningrate"},
    Alias{"grad_norm", "gradnorm"},
    Alias{"grad_norm", "gradientnorm"},
    Alias{"grad_norm", "gnorm"},
    Alias{"grad_norm", "norm"},
    Alias{"tokens_per_s", "tokenspersecond"},
    Alias{"tokens_per_s", "tokenspersec"},
    Alias{"tokens_per_s", "tokens/s"},
    Alias{"tokens_per_s", "toks"},
    Alias{"tokens_per_s", "toksec"},
    Alias{"tokens_per_s", "tokpersec"},
    Alias{"tokens_per_s", "tps"},
    Alias{"tokens_per_s", "throughput"},
    Alias{"tokens_per_s", "wps"},
    Alias{"step_ms", "steptime"},
    Alias{"step_ms", "msperstep"},
    Alias{"step_ms", "itertime"},
    Alias{"step_ms", "timeperstep"},
    Alias{"step_ms", "timeperiter"},
    Alias{"step_ms", "dt"},
    Alias{"step_ms", "ms"},
    Alias{"memory_process", "memory"},
    Alias{"memory_process", "mem"},
    Alias{"memory_process", "vram"},
    Alias{"memory_process", "gpumem"},
    Alias{"memory_process", "gpumemory"},
    Alias{"memory_process", "peakmem"},
    Alias{"memory_process", "maxmem"},
    Alias{"memory_process", "memorygb"},
    Alias{"memory_process", "memgb"},
    Alias{"memory_process", "vramgb"},
};

std::string bare(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) result += c;
  }
  return result;
}

std::string target_of(const std::string& name) {
  for (const ForeignTarget& target : foreign_targets()) {
    if (target.key == name) return target.key;  // Lathe's own names: an exported run comes back
  }
  const size_t slash = name.find_last_of("/.");
  for (const std::string& candidate :
       {bare(name),
        slash == std::string::npos ? std::string() : bare(std::string_view(name).substr(slash + 1))}) {
    const auto found = std::ranges::find(aliases, candidate, &Alias::name);
    if (found == aliases.end()) continue;
    // "val/loss" is a validation loss.
    const std::string prefix = bare(std::string_view(name).substr(0, slash));
    if (found->target == "loss" &&
        (prefix.starts_with("val") || prefix.starts_with("eval") || prefix == "test")) {
      return "eval_loss";
    }
    return std::string(found->target);
  }
  return {};
}

double median(const ForeignColumn& column) {
  std::vector<double> values;
  for (const MetricValue& value : column.values) {
    if (value && std::isfinite(*value)) values.push_back(*value);
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// What turns the column's unit into the target's, as far as its size gives it away.
double factor_of(const std::string& target, const ForeignColumn& column) {
  const double typical = std::abs(median(column));
  if (column.name.ends_with("_ms")) return 1;
  if (target == "time") return typical > 1e8 && typical < 1e11 ? 1000 : 1;
  if (target == "active") return 1000;
  if (target == "step_ms")
    return bare(column.name).find("ms") == std::string::npos && typical < 100 ? 1000 : 1;
  if (target == "memory_process") {
    constexpr double mib = 1024.0 * 1024;
    return typical == 0 || typical >= 1e7 ? 1 : typical < 1024 ? 1024 * mib : mib;
  }
  return 1;
}

}  // namespace

const std::vector<ForeignTarget>& foreign_targets() {
  static const std::vector<ForeignTarget> targets = [] {
    std::vector<ForeignTarget> all = {{"step", "Step", "updates"},
                                      {"tokens", "Tokens", "tokens"},
                                      {"time", "Wall time", "ms since 1970 (UTC)"},
                                      {"active", "Active time", "ms"}};
    for (const MetricTable table : {MetricTable::Updates, MetricTable::Evaluations}) {
      for (const MetricInfo& info : metrics(table)) {
        all.push_back({std::string(info.key), std::string(info.label), std::string(info.unit)});
      }
    }
    return all;
  }();
  return targets;
}

ForeignMapping suggest_mapping(const ForeignTable& table) {
  ForeignMapping mapping;
  std::set<std::string> taken;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ForeignColumn& column = table.columns[i];
    if (std::ranges::none_of(column.values, [](const MetricValue& value) { return value.has_value(); }))
      continue;
    const std::string target = target_of(column.name);
    if (target.empty() || !taken.insert(target).second) continue;
    mapping.columns.push_back({i, target, factor_of(target, column)});
  }
  return mapping;
}

}  // namespace lathe
