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
    Alias{"tokens_per_s", "tokenss"},
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

// Units at the end of a column's name, "dt_ms", and what turns them into the target's.
struct Unit {
  std::string_view suffix;
  enum Kind : uint8_t { Duration, Memory, Count } kind;
  double factor;
};
constexpr double kMib = 1024.0 * 1024;
constexpr std::array units = {
    Unit{"ms", Unit::Duration, 1},
    Unit{"us", Unit::Duration, 1e-3},
    Unit{"s", Unit::Duration, 1000},
    Unit{"sec", Unit::Duration, 1000},
    Unit{"min", Unit::Duration, 6e4},
    Unit{"GB", Unit::Memory, 1024 * kMib},
    Unit{"GiB", Unit::Memory, 1024 * kMib},
    Unit{"MB", Unit::Memory, kMib},
    Unit{"MiB", Unit::Memory, kMib},
    Unit{"k", Unit::Count, 1e3},
    Unit{"K", Unit::Count, 1e3},
    Unit{"M", Unit::Count, 1e6},
    Unit{"B", Unit::Count, 1e9},
};

// The unit that a name ends with; null: none.
const Unit* unit_of(std::string_view name) {
  const size_t bar = name.find_last_of('_');
  if (bar == std::string_view::npos) return nullptr;
  const auto found = std::ranges::find_if(units, [&](const Unit& unit) {
    const std::string_view suffix = name.substr(bar + 1);
    return suffix == unit.suffix ||
           (unit.kind == Unit::Memory && std::ranges::equal(suffix, unit.suffix, {}, [](char c) {
              return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : +c;
            }));
  });
  return found == units.end() ? nullptr : &*found;
}

std::string_view without_unit(std::string_view name) {
  return unit_of(name) ? name.substr(0, name.find_last_of('_')) : name;
}

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
  const std::string_view last =
      slash == std::string::npos ? std::string_view() : std::string_view(name).substr(slash + 1);
  for (const std::string& candidate :
       {bare(name), bare(last), bare(without_unit(name)), bare(without_unit(last))}) {
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

bool is_duration(std::string_view target) {
  return target == "active" || target.ends_with("_ms");
}

// What turns the column's unit into the target's, as far as its name or its size gives it away.
double factor_of(const std::string& target, const ForeignColumn& column) {
  const bool memory = target.starts_with("memory_");
  const Unit::Kind kind = is_duration(target) ? Unit::Duration : memory ? Unit::Memory : Unit::Count;
  if (const Unit* unit = unit_of(column.name); unit && column.name != target && unit->kind == kind)
    return unit->factor;
  const double typical = std::abs(median(column));
  if (target == "time") return typical > 1e8 && typical < 1e11 ? 1000 : 1;
  if (target == "active") return 1000;
  if (target == "step_ms")
    return bare(column.name).find("ms") == std::string::npos && typical < 100 ? 1000 : 1;
  if (target == "memory_process") {
    return typical == 0 || typical >= 1e7 ? 1 : typical < 1024 ? 1024 * kMib : kMib;
  }
  return 1;
}

// Tokens of a step where speed times step time gives them. Logs round both, so a multiple of 128
// within 1% is meant.
std::optional<int64_t> tokens_per_step_of(const ForeignTable& table, const ForeignMapping& mapping) {
  double speed = 0, ms = 0;
  for (const ForeignMapping::Column& column : mapping.columns) {
    const double typical = median(table.columns[column.column]) * column.factor;
    if (column.target == "tokens") return std::nullopt;  // the log counts them itself
    if (column.target == "tokens_per_s") speed = typical;
    if (column.target == "step_ms") ms = typical;
  }
  const double tokens = speed * ms / 1000;
  if (!(tokens >= 1 && tokens < 1e12)) return std::nullopt;
  const double rounded = std::round(tokens / 128) * 128;
  return std::llround(std::abs(rounded - tokens) <= 0.01 * tokens ? rounded : tokens);
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
  mapping.tokens_per_step = tokens_per_step_of(table, mapping);
  return mapping;
}

}  // namespace lathe
