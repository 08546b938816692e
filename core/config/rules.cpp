// Every rule between settings, one function a rule.
#include "core/config/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/config/derived.h"
#include "core/config/size_text.h"
#include "core/config/text_util.h"
#include "core/config/value_text.h"

namespace lathe {
namespace {

// The configuration under test and what was found so far.
struct Check {
  const RunConfig& config;
  std::vector<Problem>& problems;

  // Whether none of these settings has a problem yet.
  bool sound(std::initializer_list<std::string_view> keys) const {
    return std::none_of(problems.begin(), problems.end(), [&](const Problem& problem) {
      return std::find(keys.begin(), keys.end(), problem.key) != keys.end();
    });
  }

  void add(std::string_view key, std::string message, std::string advice) {
    problems.push_back({std::string(key), std::move(message), std::move(advice)});
  }
};

// A member of a list entry: a finite number in [low, high].
bool in_range(double value, double low, double high) {
  return std::isfinite(value) && value >= low && value <= high;
}

// --- Shape -----------------------------------------------------------------------------------------------

void head_groups(Check& check) {
  if (!check.sound({"model.heads", "model.kv_heads"})) return;
  const std::int64_t heads = check.config.model.heads;
  const std::int64_t groups = kv_heads(check.config.model);
  if (heads % groups == 0) return;
  std::string divisors;
  for (std::int64_t d = 1; d <= heads; ++d) {
    if (heads % d == 0) divisors += (divisors.empty() ? "" : ", ") + std::to_string(d);
  }
  check.add("model.kv_heads",
            fmt::format("model.kv_heads ({}) does not divide model.heads ({}).", groups, heads),
            fmt::format("Choose one of {}.", divisors));
}

void head_size(Check& check) {
  if (!check.sound({"model.heads", "model.head_dim", "model.hidden"})) return;
  const RunConfig::Model& model = check.config.model;
  if (model.head_dim == 0 && model.hidden % model.heads != 0) {
    return check.add(
        "model.head_dim",
        fmt::format("model.hidden ({}) is not a multiple of model.heads ({}), so the head size does "
                    "not follow from them.",
                    model.hidden, model.heads),
        "Set model.head_dim, or choose another model.hidden or model.heads.");
  }
  if (head_dim(model) % 2 == 0 && head_dim(model) > 0) return;
  check.add("model.head_dim", fmt::format("The head size ({}) is odd; RoPE rotates pairs.", head_dim(model)),
            "Choose an even model.head_dim; multiples of 8 run fastest.");
}

void recompute_list(Check& check) {
  const RecomputeSetting& recompute = check.config.memory.recompute;
  if (recompute.automatic) return;
  const auto count = static_cast<std::int64_t>(recompute.levels.size());
  for (const RecomputeLevel level : recompute.levels) {
    if (static_cast<std::size_t>(level) < choices<RecomputeLevel>.size()) continue;
    return check.add("memory.recompute", "memory.recompute holds a level that does not exist.",
                     "Choose " + join_choices(choices<RecomputeLevel>) + ".");
  }
  if (count == 1 || !check.sound({"model.layers"}) || count == check.config.model.layers) return;
  check.add("memory.recompute",
            fmt::format("memory.recompute lists {} layers, but model.layers is {}.", count,
                        check.config.model.layers),
            "Name one level for all layers, or as many as there are layers, such as norms*18,gate_up*6.");
}

// --- Precision -------------------------------------------------------------------------------------------

void precision_of_weights(Check& check) {
  if (!check.sound({"precision.compute", "precision.weights"})) return;
  const RunConfig::Precision& precision = check.config.precision;
  if (precision.compute != Compute::Fp32 || precision.weights == Storage::Fp32) return;
  check.add("precision.weights", "precision.compute is fp32, but precision.weights is not.",
            "Set precision.weights=fp32, or precision.compute=bf16.");
}

void master_of_weights(Check& check) {
  if (!check.sound({"precision.weights", "precision.master"})) return;
  const RunConfig::Precision& precision = check.config.precision;
  if (precision.master != Master::Split || precision.weights == Storage::Bf16) return;
  check.add("precision.master", "precision.master is split, but fp32 weights have no lower half to keep.",
            "Set precision.master=fp32 (fp32 weights are their own master), or precision.weights=bf16.");
}

// --- Data and groups -------------------------------------------------------------------------------------

void data_sources(Check& check) {
  const auto& sources = check.config.data.sources;
  const std::size_t before = check.problems.size();
  std::map<std::int64_t, std::set<std::string>> seen;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const DataSource& source = sources[i];
    const std::string entry = fmt::format("data.sources entry {}", i + 1);
    if (source.path.empty() || source.path.find('\0') != std::string::npos || !is_utf8(source.path)) {
      check.add("data.sources", entry + " has no usable path.", "Name a dataset folder, in UTF-8.");
    }
    if (!in_range(source.weight, 0, 1e9)) {
      check.add("data.sources", fmt::format("{} has the weight {}.", entry, format_real(source.weight)),
                "Choose a weight from 0 to 1e9.");
    }
    if (source.from_tokens < 0) {
      check.add("data.sources", fmt::format("{} begins at token {}.", entry, source.from_tokens),
                "Choose a token count of 0 or more.");
    }
    if (!seen[source.from_tokens].insert(source.path).second) {
      check.add(
          "data.sources",
          fmt::format("{} names '{}' a second time from token {}.", entry, source.path, source.from_tokens),
          "Give a dataset one weight for each token count.");
    }
  }
  if (sources.empty() || check.problems.size() != before) return;

  // At the start, and wherever a weight changes, something must be left to read.
  seen.try_emplace(0);
  std::map<std::string, double> weights;
  for (const auto& [from_tokens, paths] : seen) {
    for (const DataSource& source : sources) {
      if (source.from_tokens == from_tokens) weights[source.path] = source.weight;
    }
    if (std::any_of(weights.begin(), weights.end(), [](const auto& entry) { return entry.second > 0; }))
      continue;
    check.add("data.sources",
              fmt::format("From token {} on, the weights of data.sources add up to 0.", from_tokens),
              "Give at least one dataset a weight above 0 at any time of the run.");
  }
}

void validation_paths(Check& check) {
  const auto& paths = check.config.data.validation;
  if (std::none_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); })) return;
  check.add("data.validation", "data.validation holds an empty path.",
            "Remove it, or name a dataset folder.");
}

void parameter_groups(Check& check) {
  const auto& groups = check.config.optimizer.groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const ParameterRule& rule = groups[i];
    const auto wrong = [&](std::string_view what, double value, std::string_view advice) {
      check.add("optimizer.groups",
                fmt::format("optimizer.groups entry {} ('{}') has {} {}.", i + 1, rule.match, what,
                            format_real(value)),
                std::string(advice));
    };
    if (rule.match.empty() || !is_utf8(rule.match)) {
      check.add("optimizer.groups", fmt::format("optimizer.groups entry {} matches no name.", i + 1),
                "Write a glob on tensor names, such as '*norm*' or 'layer.*.attn.qkv.weight'.");
      continue;
    }
    if (!in_range(rule.lr_factor, 0, 1e6)) wrong("lr_factor", rule.lr_factor, "Choose 0 to 1e6.");
    if (rule.weight_decay && !in_range(*rule.weight_decay, 0, 10)) {
      wrong("weight_decay", *rule.weight_decay, "Choose 0 to 10.");
    }
    if (rule.init_std && !in_range(*rule.init_std, 0, 10))
      wrong("init_std", *rule.init_std, "Choose 0 to 10.");
  }
}

// --- Schedule and run ------------------------------------------------------------------------------------

void schedule_fits(Check& check) {
  if (!check.sound({"schedule.kind", "schedule.warmup", "schedule.decay", "schedule.length", "schedule.unit",
                    "run.updates", "run.tokens", "batch.micro_batch", "batch.accumulation",
                    "model.context"})) {
    return;
  }
  const RunConfig::Schedule& schedule = check.config.schedule;
  const auto length = schedule_length(check.config);
  if (!length || schedule.kind == Schedule::Constant) return;
  const std::string_view unit = choice_text(schedule.unit);
  const std::string_view whose = schedule.length > 0 ? "schedule.length" : "the length of the run";
  if (schedule.warmup > *length) {
    check.add(
        "schedule.warmup",
        fmt::format("schedule.warmup ({}) is longer than {} ({} {}).", schedule.warmup, whose, *length, unit),
        "Shorten the warm-up, or lengthen the schedule.");
  } else if (schedule.kind == Schedule::Wsd &&
             decay_length(check.config, *length) > *length - schedule.warmup) {
    check.add(
        "schedule.decay",
        fmt::format("schedule.warmup ({}) and the final decay ({}) together are longer than {} ({} {}).",
                    schedule.warmup, decay_length(check.config, *length), whose, *length, unit),
        "Shorten one of them, or lengthen the schedule.");
  }
}

void evaluation_size(Check& check) {
  if (!check.sound({"run.eval_every", "run.eval_tokens", "model.context"})) return;
  const RunConfig& config = check.config;
  if (config.run.eval_every == 0 || config.run.eval_tokens >= config.model.context) return;
  check.add("run.eval_tokens",
            fmt::format("run.eval_tokens ({}) is less than one window (model.context, {}).",
                        config.run.eval_tokens, config.model.context),
            "Choose at least one context, or run.eval_every=0 to never evaluate.");
}

void kept_checkpoints(Check& check) {
  if (!check.sound({"run.keep_every", "run.checkpoint_every"})) return;
  const RunConfig::Run& run = check.config.run;
  if (run.keep_every == 0 || (run.checkpoint_every > 0 && run.keep_every % run.checkpoint_every == 0)) return;
  check.add(
      "run.keep_every",
      fmt::format("run.keep_every ({}) is not a multiple of run.checkpoint_every ({}): there are no such "
                  "checkpoints to keep.",
                  run.keep_every, run.checkpoint_every),
      "Choose a multiple of run.checkpoint_every, or 0.");
}

void rollback_has_checkpoints(Check& check) {
  if (!check.sound({"guard.non_finite", "run.checkpoint_every"})) return;
  if (check.config.guard.non_finite != NonFinite::Rollback || check.config.run.checkpoint_every > 0) return;
  check.add("guard.non_finite",
            "guard.non_finite is rollback, but run.checkpoint_every is 0: nothing to roll back to.",
            "Set run.checkpoint_every, or choose stop or skip.");
}

void start_point(Check& check) {
  if (!check.sound({"run.init_from"})) return;
  const RunConfig::Run& run = check.config.run;
  if (run.init_from.empty()) {
    if (run.init_states) {
      check.add("run.init_states", "run.init_states is on, but run.init_from names no run.",
                "Name the run to start from, or set run.init_states=false.");
    }
    return;
  }
  const std::size_t at = run.init_from.rfind('@');
  if (at == std::string::npos) return;
  const std::string_view step = std::string_view(run.init_from).substr(at + 1);
  if (at > 0 && !step.empty() && std::all_of(step.begin(), step.end(), is_digit)) return;
  check.add("run.init_from", fmt::format("run.init_from ('{}') is not RUN or RUN@STEP.", run.init_from),
            "Write the run's id or name, and the step as a whole number: warm-start@1000.");
}

}  // namespace

void check_rules(const RunConfig& config, std::vector<Problem>& problems) {
  Check check{config, problems};
  for (const auto rule : {head_groups, head_size, recompute_list, precision_of_weights, master_of_weights,
                          data_sources, validation_paths, parameter_groups, schedule_fits, evaluation_size,
                          kept_checkpoints, rollback_has_checkpoints, start_point}) {
    rule(check);
  }
}

void check_training(const RunConfig& config, std::vector<Problem>& problems) {
  Check check{config, problems};
  if (config.data.sources.empty()) {
    check.add("data.sources", "There is no dataset to train on.",
              "Set data.sources to a dataset folder; `lathe data build` makes one from text.");
  }
  const bool ends = config.run.updates > 0 || config.run.tokens > 0 || config.run.wall_minutes > 0;
  if (!ends && check.sound({"run.updates", "run.tokens", "run.wall_minutes"})) {
    check.add("run.updates", "The run has no end: run.updates, run.tokens and run.wall_minutes are all 0.",
              "Set at least one of them.");
  } else if (ends && config.schedule.kind != Schedule::Constant && config.schedule.length == 0 &&
             config.run.updates <= 0 && config.run.tokens <= 0 && check.sound({"schedule.length"})) {
    check.add("schedule.length",
              fmt::format("A {} schedule must know its end, which run.wall_minutes alone does not give.",
                          choice_text(config.schedule.kind)),
              "Set schedule.length, run.updates or run.tokens, or choose schedule.kind=constant.");
  }
}

}  // namespace lathe
