// `lathe plan`: the fastest configuration that fits, and what a little more memory would buy.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/config_options.h"
#include "app/cli/gpu_choice.h"
#include "app/cli/speed_view.h"
#include "app/cli/text_table.h"
#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/size_text.h"
#include "core/config/validate.h"
#include "core/platform/files.h"
#include "core/program/planner.h"

namespace lathe::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  explicit Arguments(CLI::App& command) : options(command) {}
  ConfigOptions options;
  std::string vram, gpu = "this";
  bool micro_batch = false;
};

Json to_json(const PlannedConfig& planned) {
  return {{"words", planned.words},
          {"recompute", get_text(planned.config, "memory.recompute")},
          {"loss_chunk_tokens", planned.config.memory.loss_chunk_tokens.value},
          {"micro_batch", planned.config.batch.micro_batch},
          {"accumulation", planned.config.batch.accumulation},
          {"tokens_per_s", planned.tokens_per_s() > 0 ? Json(planned.tokens_per_s()) : Json()},
          {"predicted", prediction_json(planned.estimate)},
          {"saved_bytes", planned.saved_bytes},
          {"spent_share", planned.spent_share},
          {"recomputed_gflop_per_token", planned.extra_gflop_per_token},
          {"arena_bytes", planned.estimate.arena_bytes},
          {"process_bytes", planned.estimate.process_bytes()}};
}

// What more memory would buy: the next step, and all of it.
void print_next(const PlannerResult& result) {
  const PlannedConfig& winner = result.ranked.front();
  if (result.next_budget_bytes <= 0) {
    std::cout << "\nMore memory would not make it faster.\n";
    return;
  }
  const auto speed = [](double tokens_per_s) {
    return tokens_per_s > 0 ? fmt::format(", {:.0f} tokens/s", tokens_per_s) : std::string();
  };
  std::cout << fmt::format("\nWith {} more than the budget: {}{}.\n",
                           bytes_text(result.next_budget_bytes - winner.estimate.budget_bytes),
                           result.next_words, speed(result.next_tokens_per_s));
  std::cout << fmt::format("Keeping everything would take {}{}.\n",
                           bytes_text(winner.estimate.process_bytes() + winner.saved_bytes),
                           speed(winner.tokens_per_s() * (1 + winner.spent_share)));
}

void print_text(const PlannerResult& result, const std::vector<Suggestion>& suggestions, const GpuChoice& gpu,
                const CostModel& costs) {
  const PlannedConfig& winner = result.ranked.front();
  std::cout << fmt::format("{}\n", winner.words);
  if (winner.tokens_per_s() > 0) {
    std::cout << fmt::format("{:.0f} tokens/s predicted for {} ({}), {} of {} used.\n", winner.tokens_per_s(),
                             gpu.name, basis_text(winner.estimate, gpu),
                             bytes_text(winner.estimate.process_bytes()),
                             bytes_text(winner.estimate.budget_bytes));
  } else {
    std::cout << fmt::format("{} of {} used; speed is not predicted without a known GPU (--gpu).\n",
                             bytes_text(winner.estimate.process_bytes()),
                             bytes_text(winner.estimate.budget_bytes));
  }
  std::cout << fmt::format(
      "Apply: --set memory.recompute={} --set memory.loss_chunk_tokens={} --set batch.micro_batch={} --set "
      "batch.accumulation={}\n\n",
      get_text(winner.config, "memory.recompute"), winner.config.memory.loss_chunk_tokens.value,
      winner.config.batch.micro_batch, winner.config.batch.accumulation);
  // Beside keeping everything: what each way saves in memory and spends in time.
  TextTable table({">#", ">process", ">saves", ">GFLOP/token again", ">time", ">tokens/s", "how"});
  int rank = 0;
  for (const PlannedConfig& planned : result.ranked) {
    if (++rank > 8) break;
    const bool timed = planned.tokens_per_s() > 0;
    table.add({std::to_string(rank), bytes_text(planned.estimate.process_bytes()),
               bytes_text(planned.saved_bytes), fmt::format("{:.3f}", planned.extra_gflop_per_token),
               timed ? fmt::format("{:+.1f}%", 100 * planned.spent_share) : "-",
               timed ? fmt::format("{:.0f}", planned.tokens_per_s()) : "-", planned.words});
  }
  std::cout << table.text();
  if (winner.tokens_per_s() > 0) std::cout << '\n' << speed_text(winner.estimate, gpu, costs);
  print_next(result);
  if (!suggestions.empty()) std::cout << "\nSettings that change the maths, and what each would save:\n";
  for (const Suggestion& suggestion : suggestions) {
    std::cout << fmt::format("  {}={}  {}: {}\n", suggestion.key, suggestion.value,
                             bytes_text(suggestion.saved_bytes), suggestion.why);
  }
}

// Plans; when nothing fits, the error says with which changes something would.
PlannerResult plan_or_advise(const RunConfig& config, const PlannerRequest& request) {
  try {
    return plan_configuration(config, request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidConfig) throw;
    const std::optional<Rescue> rescue = find_rescue(config, request);
    if (!rescue) throw;
    std::string changes;
    for (const auto& [key, value] : rescue->changes) changes += fmt::format(" --set {}={}", key, value);
    const PlannedConfig& planned = rescue->planned;
    throw Error(error.code(), error.what_happened(),
                fmt::format("{}\n  With{} it fits: {}; {}{}.", error.what_to_do(), changes, planned.words,
                            bytes_text(planned.estimate.process_bytes()),
                            planned.tokens_per_s() > 0
                                ? fmt::format(", {:.0f} tokens/s predicted", planned.tokens_per_s())
                                : ""));
  }
}

}  // namespace

void register_plan_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("plan", "Find the fastest configuration that fits a memory budget");
  auto arguments = std::make_shared<Arguments>(*command);
  command->add_option("--vram", arguments->vram,
                      "Memory the process may use: 15GiB (default: the GPU's, less the margin)");
  command->add_option("--gpu", arguments->gpu, "Plan for this GPU: a name like \"RTX 5080\", or 'this'")
      ->capture_default_str();
  command->add_flag("--micro-batch", arguments->micro_batch,
                    "Also vary the micro-batch at constant tokens an update");
  command->footer(
      "Examples:\n"
      "  lathe plan --preset 977m --vram 15GiB\n"
      "  lathe plan --preset 977m --gpu \"RTX 5080\" --set optimizer.state=8bit --set "
      "precision.master=split");
  command->callback([arguments, &context] {
    RunConfig config = arguments->options.config();
    require_valid(config, Purpose::Estimate);
    config.memory.recompute.automatic = true;
    config.memory.loss_chunk_tokens.automatic = true;
    const GpuChoice gpu = choose_gpu(arguments->gpu, context);
    const CostModel costs = gpu.costs();
    PlannerRequest request;
    request.estimate = gpu.estimate_request();
    if (!arguments->vram.empty()) {
      request.estimate.budget_bytes = parse_whole_number(arguments->vram);
    } else if (!config.memory.vram_budget.automatic) {
      request.estimate.budget_bytes = config.memory.vram_budget.value;
    } else if (gpu.memory_bytes > 0) {
      request.estimate.budget_bytes = gpu.memory_bytes - config.memory.vram_margin;
    } else {
      throw Error(ErrorCode::InvalidArgument, "There is no GPU here to take a budget from.",
                  "Say --vram 15GiB or --gpu NAME.");
    }
    request.estimate.costs = &costs;
    request.vary_micro_batch = arguments->micro_batch;
    const PlannerResult result = plan_or_advise(config, request);
    const std::vector<Suggestion> suggestions =
        suggest_changes(result.ranked.front().config, request.estimate);
    Json ranked = Json::array(), list = Json::array();
    for (const PlannedConfig& planned : result.ranked) ranked.push_back(to_json(planned));
    for (const Suggestion& suggestion : suggestions) {
      list.push_back({{"key", suggestion.key},
                      {"value", suggestion.value},
                      {"saved_bytes", suggestion.saved_bytes},
                      {"why", suggestion.why}});
    }
    print(context,
          Json{{"gpu", gpu.name},
               {"calibrated", costs.calibrated()},
               {"rates", rates_json(gpu, costs)},
               {"budget_bytes", request.estimate.budget_bytes},
               {"ranked", ranked},
               {"next",
                {{"budget_bytes", result.next_budget_bytes},
                 {"tokens_per_s", result.next_tokens_per_s > 0 ? Json(result.next_tokens_per_s) : Json()},
                 {"words", result.next_words}}},
               {"suggestions", list},
               {"plans_tried", result.plans}},
          [&] { print_text(result, suggestions, gpu, costs); });
  });
}

}  // namespace lathe::cli
