// `lathe estimate`: what a configuration will need, before anything runs.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/config_options.h"
#include "app/cli/gpu_choice.h"
#include "app/cli/speed_view.h"
#include "app/cli/text_table.h"
#include "core/config/size_text.h"
#include "core/history/history_store.h"
#include "core/history/past_predictions.h"
#include "core/platform/files.h"
#include "core/program/cost_model.h"
#include "core/program/estimate.h"

namespace lathe::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  explicit Arguments(CLI::App& command) : options(command) {}
  ConfigOptions options;
  std::string vram, device = "cuda", gpu = "this";
};

std::string verdict_sentence(const Estimate& estimate) {
  const std::string need = bytes_text(estimate.process_bytes()), budget = bytes_text(estimate.budget_bytes);
  switch (estimate.verdict) {
    case Verdict::Fits:
      return fmt::format("It fits: {} of {}.", need, budget);
    case Verdict::Tight:
      return fmt::format("Tight: {} of {}; another program's window may tip it over.", need, budget);
    case Verdict::DoesNotFit:
      return fmt::format("It does not fit: {} needed, {} allowed.", need, budget);
    case Verdict::Unknown:
      return fmt::format("It needs {}; say --vram 15GiB to judge it.", need);
  }
  return {};
}

void print_text(const Estimate& estimate, const GpuChoice& gpu, const CostModel& costs,
                const std::optional<PastPredictions>& past) {
  std::cout << fmt::format("{} parameters{}, {} tokens an update\n", estimate.parameters,
                           estimate.padding_parameters > 0
                               ? fmt::format(" ({} of them vocabulary padding)", estimate.padding_parameters)
                               : "",
                           estimate.tokens_per_update);
  std::cout << fmt::format("{:.3f} GFLOP a token in the model, {:.3f} executed\n\n",
                           estimate.model_flops_per_token / 1e9, estimate.executed_flops_per_token / 1e9);
  TextTable table({"At the peak", ">bytes", ">"});
  for (int role = 0; role < kRoleCount; ++role) {
    const int64_t bytes = estimate.role_bytes[static_cast<size_t>(role)];
    if (bytes > 0)
      table.add({std::string(role_name(static_cast<Role>(role))), std::to_string(bytes), bytes_text(bytes)});
  }
  table.add({"gaps between buffers", std::to_string(estimate.fragmentation_bytes),
             bytes_text(estimate.fragmentation_bytes)});
  table.add(
      {"arena (one allocation)", std::to_string(estimate.arena_bytes), bytes_text(estimate.arena_bytes)});
  if (estimate.overhead_bytes > 0) {
    table.add({estimate.overhead_measured ? "driver and libraries (measured, and a reserve)"
                                          : "driver and libraries (assumed)",
               std::to_string(estimate.overhead_bytes), bytes_text(estimate.overhead_bytes)});
  }
  table.add({"process", std::to_string(estimate.process_bytes()), bytes_text(estimate.process_bytes())});
  std::cout << table.text();
  std::cout << fmt::format("\nFullest at {} (op {}).\n", estimate.peak_op, estimate.peak.op);
  std::cout << fmt::format("A checkpoint takes {}.\n", bytes_text(estimate.checkpoint_bytes));
  if (estimate.tokens_per_s > 0) {
    std::cout << '\n' << speed_text(estimate, gpu, costs);
    std::cout << fmt::format("{:.0f} tokens/s predicted (nominal, step only), {:.3f} s an update; {}.\n",
                             estimate.tokens_per_s, estimate.time.seconds, basis_text(estimate, gpu));
  }
  if (past) std::cout << past_predictions_text(*past) << '\n';
  std::cout << verdict_sentence(estimate) << '\n';
}

Json to_json(const PredictionErrors& errors) {
  if (errors.runs == 0) return nullptr;
  return {{"runs", errors.runs}, {"median", errors.median}, {"worst", errors.worst}};
}

// Nothing where there is no history yet: an estimate leaves no trace.
std::optional<PastPredictions> look_back(const GpuChoice& gpu, const Context& context) {
  const std::filesystem::path home = context.home.empty() ? default_home() : context.home;
  if (gpu.name.empty() || !std::filesystem::exists(home / "history.db")) return std::nullopt;
  return past_predictions(HistoryStore(home).list({.archived = true}), gpu.name);
}

}  // namespace

void register_estimate_command(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("estimate", "Memory and work of a configuration, without running it");
  auto arguments = std::make_shared<Arguments>(*command);
  command->add_option("--vram", arguments->vram, "Memory this process may use, for the verdict: 15GiB");
  command->add_option("--device", arguments->device, "Plan for cuda or cpu")
      ->check(CLI::IsMember({"cuda", "cpu"}))
      ->capture_default_str();
  command->add_option("--gpu", arguments->gpu, "Estimate for this GPU: a name like \"RTX 5080\", or 'this'")
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  lathe estimate --preset 977m --vram 15GiB\n"
      "  lathe estimate --preset 977m --set memory.recompute=gate_up --set optimizer.state=8bit --json\n"
      "  lathe estimate --preset 977m --gpu \"RTX 5080\" --set memory.recompute=block --set "
      "optimizer.state=8bit\n"
      "      what a PyTorch user trains there: every layer checkpointed, FP32 master weights, 8-bit AdamW");
  command->callback([arguments, &context] {
    RunConfig config = arguments->options.config();
    GpuChoice gpu;
    if (arguments->device == "cpu") {
      gpu.target.kind = DeviceKind::Cpu;
    } else {
      gpu = choose_gpu(arguments->gpu, context);
    }
    const CostModel costs = gpu.costs();
    EstimateRequest request = gpu.estimate_request();
    request.costs = &costs;
    if (!arguments->vram.empty()) {
      request.budget_bytes = parse_whole_number(arguments->vram);
    } else if (!config.memory.vram_budget.automatic) {
      request.budget_bytes = config.memory.vram_budget.value;
    } else {
      request.budget_bytes = std::max<int64_t>(gpu.memory_bytes - config.memory.vram_margin, 0);
    }
    const Estimate result = estimate(config, request);
    const std::optional<PastPredictions> past = look_back(gpu, context);
    Json json = to_json(result);
    if (result.tokens_per_s > 0) json["predicted"]["rates"] = rates_json(gpu, costs);
    if (past) json["past_predictions"] = {{"peak", to_json(past->peak)}, {"speed", to_json(past->speed)}};
    print(context, json, [&] { print_text(result, gpu, costs, past); });
    if (result.verdict == Verdict::DoesNotFit) context.exit_code = exit_code(ErrorCode::OutOfMemory);
  });
}

}  // namespace lathe::cli
