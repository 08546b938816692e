#include "core/program/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/config/config_text.h"
#include "core/config/derived.h"
#include "core/program/program_builder.h"
#include "kernels/api/cost.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

constexpr int kLevels = 6;

const char* level_words(RecomputeLevel level) {
  switch (level) {
    case RecomputeLevel::None:
      return "keep everything";
    case RecomputeLevel::Norms:
      return "recompute norms and SwiGLU";
    case RecomputeLevel::GateUp:
      return "recompute gate/up";
    case RecomputeLevel::Qkv:
      return "recompute gate/up and qkv";
    case RecomputeLevel::AttentionFfn:
      return "recompute attention and FFN";
    case RecomputeLevel::Block:
      return "recompute the whole block";
  }
  return "";
}

// The ladder of recompute choices: rung 0 keeps everything; each rung takes one layer, from the first on, to
// the next level. Levels free bytes at rising cost (gpu notes: norms, SwiGLU, gate/up, qkv, attention, o), so
// the ladder's bytes fall and its work rises from rung to rung.
std::vector<RecomputeLevel> ladder(int64_t rung, int64_t layers) {
  const auto base = static_cast<int>(rung / layers);
  const int64_t raised = rung % layers;
  std::vector<RecomputeLevel> levels(static_cast<size_t>(layers), static_cast<RecomputeLevel>(base));
  for (int64_t i = 0; i < raised; ++i) levels[static_cast<size_t>(i)] = static_cast<RecomputeLevel>(base + 1);
  return levels;
}

std::vector<RecomputeLevel> shortest(std::vector<RecomputeLevel> levels) {
  const bool uniform =
      std::all_of(levels.begin(), levels.end(), [&](RecomputeLevel l) { return l == levels.front(); });
  if (uniform) levels.resize(1);
  return levels;
}

class Search {
 public:
  Search(const RunConfig& config, const PlannerRequest& request) : config_(config), request_(request) {}

  PlannerResult run() {
    for (const auto& [micro_batch, accumulation] : batches()) {
      for (const int64_t chunk : chunks(micro_batch)) search_levels(micro_batch, accumulation, chunk);
    }
    if (result_.ranked.empty()) refuse();
    std::stable_sort(result_.ranked.begin(), result_.ranked.end(),
                     [](const PlannedConfig& a, const PlannedConfig& b) { return a.rank() < b.rank(); });
    for (PlannedConfig& planned : result_.ranked) compare_with_everything(planned);
    find_next();
    result_.plans = plans_;
    return std::move(result_);
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> batches() const {
    const int64_t windows = config_.batch.micro_batch * config_.batch.accumulation;
    if (!request_.vary_micro_batch) return {{config_.batch.micro_batch, config_.batch.accumulation}};
    std::vector<std::pair<int64_t, int64_t>> result;
    for (int64_t rows = 1; rows <= std::min<int64_t>(windows, 64); rows *= 2) {
      if (windows % rows == 0) result.emplace_back(rows, windows / rows);
    }
    return result;
  }

  std::vector<int64_t> chunks(int64_t micro_batch) const {
    if (!config_.memory.loss_chunk_tokens.automatic) return {config_.memory.loss_chunk_tokens.value};
    const int64_t rows = micro_batch * config_.model.context;
    std::vector<int64_t> result{0};
    for (const int64_t chunk : {int64_t{4096}, int64_t{1024}}) {
      if (chunk < rows) result.push_back(chunk);
    }
    return result;
  }

  RunConfig candidate(int64_t micro_batch, int64_t accumulation, int64_t chunk, int64_t rung) const {
    RunConfig config = config_;
    config.batch.micro_batch = micro_batch;
    config.batch.accumulation = accumulation;
    config.memory.loss_chunk_tokens = {false, chunk};
    if (config.memory.recompute.automatic) {
      config.memory.recompute = {false, shortest(ladder(rung, config.model.layers))};
    }
    return config;
  }

  PlannedConfig plan(const RunConfig& config) {
    ++plans_;
    PlannedConfig planned;
    planned.config = config;
    const StepProgram program =
        build_step_program(config, training_options(config, request_.estimate.target));
    planned.estimate = estimate(config, program, plan_memory(program), request_.estimate);
    planned.extra_gflop_per_token = 0;
    for (const Op& op : program.sequence(SequenceId::MicroRest).ops) {
      if (op.phase == Phase::Recompute) planned.extra_gflop_per_token += op_cost(program, op).executed_flops;
    }
    planned.extra_gflop_per_token /= 1e9 * static_cast<double>(tokens_per_micro_step(config));
    planned.words = words(config);
    return planned;
  }

  std::string words(const RunConfig& config) const {
    std::string text = recompute_words(config.memory.recompute.levels, config.model.layers);
    const int64_t chunk = loss_chunk_tokens(config);
    if (chunk < tokens_per_micro_step(config)) text += fmt::format("; loss in chunks of {} tokens", chunk);
    if (request_.vary_micro_batch) {
      text = fmt::format("micro-batch {}, accumulation {}: {}", config.batch.micro_batch,
                         config.batch.accumulation, text);
    }
    return text;
  }

  bool fits(const Estimate& estimate) const {
    return request_.estimate.budget_bytes <= 0 || estimate.process_bytes() <= request_.estimate.budget_bytes;
  }

  // Bytes no plan of this configuration can do without: quick, and within two percent of the plan.
  int64_t least_bytes(const RunConfig& config) {
    ++plans_;
    BuildOptions options = training_options(config, request_.estimate.target);
    const StepProgram program = build_step_program(config, options);
    return lower_bound_bytes(program) + overhead_bytes(request_.estimate);
  }

  // The lowest rung that fits: bytes fall along the ladder, so bisection finds it. The bound bisects, the
  // plan decides.
  void search_levels(int64_t micro_batch, int64_t accumulation, int64_t chunk) {
    const int64_t last = config_.memory.recompute.automatic ? (kLevels - 1) * config_.model.layers : 0;
    const int64_t budget = request_.estimate.budget_bytes;
    const auto may_fit = [&](int64_t rung) {
      return budget <= 0 || least_bytes(candidate(micro_batch, accumulation, chunk, rung)) <= budget;
    };
    int64_t rung = 0;
    if (last > 0 && !may_fit(0)) {
      int64_t too_much = 0, enough = last;
      while (enough - too_much > 1) {
        const int64_t middle = (too_much + enough) / 2;
        (may_fit(middle) ? enough : too_much) = middle;
      }
      rung = enough;
    }
    for (; rung <= last; ++rung) {
      PlannedConfig planned = plan(candidate(micro_batch, accumulation, chunk, rung));
      if (fits(planned.estimate)) return add(std::move(planned), micro_batch, accumulation, chunk, rung);
      if (rung == last) remember(planned);
    }
  }

  void add(PlannedConfig planned, int64_t micro_batch, int64_t accumulation, int64_t chunk, int64_t rung) {
    origin_[planned.words] = {micro_batch, accumulation, chunk, rung};
    result_.ranked.push_back(std::move(planned));
  }

  void remember(const PlannedConfig& planned) {
    if (least_ == 0 || planned.estimate.process_bytes() < least_) {
      least_ = planned.estimate.process_bytes();
      least_words_ = planned.words;
    }
  }

  [[noreturn]] void refuse() const {
    throw Error(
        ErrorCode::InvalidConfig,
        fmt::format("Nothing fits {:.2f} GiB: the least, {}, needs {:.2f} GiB.",
                    static_cast<double>(request_.estimate.budget_bytes) / (1 << 30), least_words_,
                    static_cast<double>(least_) / (1 << 30)),
        "Lower batch.micro_batch or model.context, or choose smaller optimizer.state, precision.master or "
        "precision.gradients; `lathe plan` says which would do.");
  }

  // What a plan saves and spends beside the one that keeps everything.
  void compare_with_everything(PlannedConfig& planned) {
    const RunConfig::Batch& batch = planned.config.batch;
    const RunConfig config = candidate(batch.micro_batch, batch.accumulation, 0, 0);
    const auto [entry, added] = everything_.try_emplace(batch.micro_batch);
    if (added) entry->second = plan(config).estimate;
    planned.saved_bytes = entry->second.process_bytes() - planned.estimate.process_bytes();
    const double seconds = entry->second.time.seconds;
    if (seconds > 0) planned.spent_share = planned.estimate.time.seconds / seconds - 1;
  }

  // One rung up from the winner: what a little more memory would buy.
  void find_next() {
    const auto [micro_batch, accumulation, chunk, rung] = origin_.at(result_.ranked.front().words);
    if (rung == 0) return;
    const PlannedConfig next = plan(candidate(micro_batch, accumulation, chunk, rung - 1));
    result_.next_budget_bytes = next.estimate.process_bytes();
    result_.next_tokens_per_s = next.tokens_per_s();
    result_.next_words = next.words;
  }

  struct Origin {
    int64_t micro_batch, accumulation, chunk, rung;
  };
  const RunConfig& config_;
  const PlannerRequest& request_;
  PlannerResult result_;
  std::map<std::string, Origin> origin_;
  std::map<int64_t, Estimate> everything_;  // by micro-batch
  int plans_ = 0;
  int64_t least_ = 0;
  std::string least_words_;
};

}  // namespace

std::string recompute_words(const std::vector<RecomputeLevel>& levels, int64_t layers) {
  if (levels.size() == 1) return fmt::format("all {} layers {}", layers, level_words(levels.front()));
  std::string text;
  for (int level = 0; level < kLevels; ++level) {
    const auto count = std::count(levels.begin(), levels.end(), static_cast<RecomputeLevel>(level));
    if (count == 0) continue;
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", count, text.empty() ? " layers" : "",
                        level_words(static_cast<RecomputeLevel>(level)));
  }
  return text;
}

PlannerResult plan_configuration(const RunConfig& config, const PlannerRequest& request) {
  return Search(config, request).run();
}

std::optional<Rescue> find_rescue(const RunConfig& config, const PlannerRequest& request) {
  Rescue rescue;
  RunConfig changed = config;
  const auto change = [&](const char* key, const char* value) {
    const RunConfig before = changed;
    set_text(changed, key, value);
    if (changed == before) return false;
    std::erase_if(rescue.changes, [&](const auto& earlier) { return earlier.first == key; });
    rescue.changes.emplace_back(key, value);
    try {
      rescue.planned = plan_configuration(changed, request).ranked.front();
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::InvalidConfig) throw;
      return false;
    }
  };
  const bool bf16 = config.precision.weights == Storage::Bf16;
  if (bf16 && config.precision.master == Master::Fp32 && change("precision.master", "split")) return rescue;
  if (change("optimizer.state", "8bit")) return rescue;
  if (config.precision.compute == Compute::Bf16 && change("precision.gradients", "bf16")) return rescue;
  if (bf16 && change("precision.master", "none")) return rescue;
  return std::nullopt;
}

std::vector<Suggestion> suggest_changes(const RunConfig& config, const EstimateRequest& request) {
  const auto bytes_of = [&](const RunConfig& changed) {
    const StepProgram program = build_step_program(changed, training_options(changed, request.target));
    return plan_memory(program).arena_bytes;
  };
  const int64_t now = bytes_of(config);
  std::vector<Suggestion> suggestions;
  const auto consider = [&](const char* key, const char* value, const char* why) {
    RunConfig changed = config;
    set_text(changed, key, value);
    if (changed == config) return;
    const int64_t saved = now - bytes_of(changed);
    if (saved > 0) suggestions.push_back({key, value, why, saved});
  };
  if (config.precision.compute == Compute::Bf16) {
    if (config.precision.master == Master::Fp32) {
      consider("precision.master", "split",
               "the same FP32 arithmetic from the BF16 weight and a 16-bit remainder");
    }
    if (config.precision.master != Master::None) {
      consider("precision.master", "none", "stochastic rounding instead of master weights");
    }
    consider("precision.gradients", "bf16", "gradients rounded to BF16 after every micro-step");
  }
  if (config.optimizer.state != State::Int8) {
    consider("optimizer.state", "8bit", "AdamW's moments in blocks of 256 8-bit codes");
  }
  std::stable_sort(suggestions.begin(), suggestions.end(),
                   [](const Suggestion& a, const Suggestion& b) { return a.saved_bytes > b.saved_bytes; });
  return suggestions;
}

}  // namespace lathe
