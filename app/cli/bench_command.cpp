// `lathe bench`: complete updates, timed.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/config_options.h"
#include "app/common/backends.h"
#include "core/experiment/benchmark.h"
#include "core/platform/files.h"

namespace lathe::cli {

namespace {

struct Arguments {
  explicit Arguments(CLI::App& command) : options(command) {}
  ConfigOptions options;
  BenchmarkRequest request;
  bool no_graphs = false;
};

void print_text(const BenchmarkResult& result) {
  const auto line = [](const char* label, const std::string& value) {
    std::cout << fmt::format("{:<34}{}\n", label, value);
  };
  line("device", result.device.name);
  line("parameters", std::to_string(result.estimate.parameters));
  line("tokens an update", std::to_string(result.tokens_per_update));
  const UpdateTimes& times = result.times;
  line("update, median (min to max)", fmt::format("{:.4f} s ({:.4f} to {:.4f}, {} updates)", times.median_s,
                                                  times.min_s, times.max_s, times.updates));
  line("  forward and backward", fmt::format("{:.4f} s", times.micro_steps_s));
  line("  optimizer", fmt::format("{:.4f} s", times.optimizer_s));
  line("tokens/s, nominal", fmt::format("{:.0f}", result.tokens_per_s));
  line("tokens/s, end to end", fmt::format("{:.0f}", result.tokens_per_s_end_to_end));
  line("memory, arena (as planned)", bytes_text(result.memory.arena_bytes));
  line("memory, process", bytes_text(result.peak_process_bytes));
  line("model FLOP/s", fmt::format("{:.1f} TFLOP/s", result.model_flops_per_s / 1e12));
  line("executed FLOP/s", fmt::format("{:.1f} TFLOP/s", result.executed_flops_per_s / 1e12));
  const auto utilisation = [&](const char* of, const std::optional<double>& rate) {
    if (!rate) return;
    line(of, fmt::format("{:.1f}%, {:.1f}% of {:.1f} TFLOP/s", 100 * result.model_flops_per_s / *rate,
                         100 * result.executed_flops_per_s / *rate, *rate / 1e12));
  };
  utilisation("MFU, HFU (of the specification)", result.spec_flops_per_s);
  utilisation("MFU, HFU (of the measured rate)", result.measured_flops_per_s);
  line("preparing", fmt::format("{:.1f} s", result.prepare_s));
  line("loss", fmt::format("{:.4f}", times.loss));
}

}  // namespace

void register_bench_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("bench", "Time complete updates on random tokens");
  auto arguments = std::make_shared<Arguments>(*command);
  command->add_option("--updates", arguments->request.load.updates, "Timed updates, at least")
      ->capture_default_str();
  command->add_option("--warmup", arguments->request.load.warmup_updates, "Updates before")
      ->capture_default_str();
  command->add_option("--seconds", arguments->request.load.seconds, "Timed seconds, at least")
      ->capture_default_str();
  command->add_flag("--no-graphs", arguments->no_graphs,
                    "Launch op by op instead of replaying graphs (CUDA)");
  command->footer("Example:\n  lathe bench --preset 977m --set precision.gradients=bf16 --json");
  command->callback([arguments, &context] {
    arguments->request.graphs = !arguments->no_graphs;
    arguments->request.home = context.home.empty() ? default_home() : context.home;
    const BackendRegistry registry = make_backends();
    const BenchmarkResult result = run_benchmark(arguments->options.config(), registry, arguments->request);
    print(context, to_json(result), [&] { print_text(result); });
  });
}

}  // namespace lathe::cli
