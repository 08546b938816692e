// `lathe train`, `lathe resume`, `lathe generate`: the main job.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/config_options.h"
#include "app/cli/progress_lines.h"
#include "app/common/backends.h"
#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/platform/files.h"
#include "core/platform/interrupt.h"
#include "core/platform/process.h"
#include "core/program/auto_settings.h"
#include "core/train/generator.h"
#include "core/train/training_run.h"

namespace lathe::cli {

namespace {

using Json = nlohmann::ordered_json;

HistoryStore open_store(const Context& context) {
  return HistoryStore(context.home.empty() ? default_home() : context.home);
}

Json to_json(const TrainingResult& result, const TrainingRun& run) {
  Json json;
  json["run"] = run.id();
  json["status"] = status_name(result.status);
  json["reason"] = result.reason;
  json["step"] = result.step;
  json["last_loss"] = result.last_loss && std::isfinite(*result.last_loss) ? Json(*result.last_loss) : Json();
  json["last_eval_loss"] =
      result.last_eval_loss && std::isfinite(*result.last_eval_loss) ? Json(*result.last_eval_loss) : Json();
  json["checkpoint_step"] = result.checkpoint_step >= 0 ? Json(result.checkpoint_step) : Json();
  json["folder"] = to_utf8(run.folder());
  return json;
}

// Trains in this process and reports; the exit code says how it ended.
void execute(Context& context, TrainingRun& run, double telemetry_every_s) {
  RunControl control;
  control.set_telemetry_every(std::chrono::milliseconds(std::llround(telemetry_every_s * 1000)));
  const InterruptWatcher interrupts;
  ProgressLines lines(context.json, run);
  TrainingObserver observer = lines.observer();
  observer.between_micro_steps = [&](RunControl& requests) {
    if (interrupts.count() >= 2 && !requests.stop_now_requested()) {
      lines.say("Stopping now; the open window is dropped.");
      requests.stop_now();
    } else if (interrupts.count() == 1 && !requests.stopping()) {
      lines.say("Finishing this update, saving, stopping. Ctrl-C again stops at once.");
      requests.stop();
    }
  };
  lines.start();
  const TrainingResult result = run.execute(control, observer);
  lines.finish(result);
  if (context.json) std::cout << Json{{"event", "end"}, {"result", to_json(result, run)}}.dump() << '\n';
  if (result.status == RunStatus::Failed) context.exit_code = exit_code(ErrorCode::NonFinite);
  if (result.status == RunStatus::Stopped) context.exit_code = exit_code(ErrorCode::Cancelled);
}

void add_telemetry_option(CLI::App& command, double& seconds) {
  command.add_option("--telemetry-every", seconds, "Seconds between readings of the device")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
}

void add_train(CLI::App& app, Context& context) {
  struct Arguments {
    explicit Arguments(CLI::App& command) : options(command) {}
    ConfigOptions options;
    std::vector<std::string> data;
    std::string init_from;
    bool init_states = false;
    double telemetry_every_s = 1;
  };
  CLI::App* command = app.add_subcommand("train", "Train a model, from random weights or from a checkpoint");
  auto arguments = std::make_shared<Arguments>(*command);
  command->add_option("--data", arguments->data,
                      "Dataset folder to train on; may be repeated (equal shares)");
  command->add_option("--init-from", arguments->init_from,
                      "Fork: start from this checkpoint, RUN or RUN@STEP");
  command->add_flag("--with-states", arguments->init_states, "With --init-from: the optimizer's states, too");
  add_telemetry_option(*command, arguments->telemetry_every_s);
  command->footer(
      "Examples:\n"
      "  lathe train --preset tiny --data my-dataset --run.updates 500\n"
      "  lathe train --preset 125m --data books --set schedule.lr=6e-4 --set memory.recompute=auto\n"
      "  lathe train --init-from last@1000 --data books --set schedule.lr=1e-4\n"
      "Ctrl-C finishes the update, saves and stops; twice stops at once.");
  command->callback([arguments, &context] {
    HistoryStore history = open_store(context);
    RunConfig base;
    if (!arguments->init_from.empty()) {
      const CheckpointReference from = find_checkpoint(history, arguments->init_from);
      base = from_json(nlohmann::json::parse(from.manifest.settings.dump()));
      base.run.name.clear();
    }
    RunConfig config = arguments->options.config(base);
    for (const std::string& path : arguments->data) {
      if (&path == &arguments->data.front()) config.data.sources.clear();
      config.data.sources.push_back({to_utf8(std::filesystem::absolute(from_utf8(path))), 1, 0});
    }
    if (!arguments->init_from.empty()) {
      config.run.init_from = arguments->init_from;
      config.run.init_states = arguments->init_states;
    }
    const BackendRegistry registry = make_backends();
    const auto run = TrainingRun::create(history, registry, config);
    execute(context, *run, arguments->telemetry_every_s);
  });
}

void add_resume(CLI::App& app, Context& context) {
  struct Arguments {
    explicit Arguments(CLI::App& command) : options(command) {}
    ConfigOptions options;
    std::string run;
    bool last = false, if_interrupted = false;
    double telemetry_every_s = 1;
  };
  CLI::App* command = app.add_subcommand("resume", "Go on with a run at its newest checkpoint, bit for bit");
  auto arguments = std::make_shared<Arguments>(*command);
  command->add_option("run", arguments->run,
                      "Run: its id, name, or a unique beginning; RUN@STEP for an older checkpoint");
  command->add_flag("--last", arguments->last, "The newest run");
  command->add_flag("--if-interrupted", arguments->if_interrupted,
                    "Only if it was interrupted (crash, power cut); otherwise do nothing and exit 0");
  add_telemetry_option(*command, arguments->telemetry_every_s);
  command->footer(
      "Examples:\n"
      "  lathe resume last\n"
      "  lathe resume k3f9 --run.updates 20000\n"
      "  lathe resume --last --if-interrupted   # safe in a start-up script");
  command->callback([arguments, &context] {
    HistoryStore history = open_store(context);
    if (arguments->run.empty() && !arguments->last) {
      throw Error(ErrorCode::InvalidArgument, "No run was named.", "Give a run, or --last for the newest.");
    }
    const std::string reference = arguments->run.empty() ? "last" : arguments->run;
    if (arguments->if_interrupted) {
      const auto nothing = [&](const std::string& why) {
        print(context, Json{{"resumed", false}, {"reason", why}},
              [&] { std::cout << "Nothing to resume: " << why << '\n'; });
      };
      if (history.list().empty()) return nothing("there are no runs.");
      const RunSummary summary = history.summary(history.find(reference.substr(0, reference.rfind('@'))));
      if (summary.status != RunStatus::Interrupted) {
        return nothing(fmt::format("run {} is {}.", summary.name, status_name(summary.status)));
      }
    }
    const BackendRegistry registry = make_backends();
    const auto run =
        TrainingRun::resume(history, registry, reference, std::nullopt,
                            [&](const RunConfig& before) { return arguments->options.config(before); });
    execute(context, *run, arguments->telemetry_every_s);
  });
}

void add_generate(CLI::App& app, Context& context) {
  struct Arguments {
    std::string run = "last", prompt, device = "auto";
    int64_t tokens = 200;
    SamplingSettings sampling;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("generate", "Write text with a checkpoint");
  command->add_option("run", arguments->run, "RUN or RUN@STEP")->capture_default_str();
  command->add_option("--prompt", arguments->prompt, "Text to go on with; empty starts a document");
  command->add_option("--tokens", arguments->tokens, "At most this many tokens")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--temperature", arguments->sampling.temperature, "0: always the likeliest token")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--top-k", arguments->sampling.top_k, "Choose among the k likeliest; 0: all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--top-p", arguments->sampling.top_p, "Choose among the fewest that hold this probability")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", arguments->sampling.seed, "Same seed, same text")->capture_default_str();
  command->add_option("--device", arguments->device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command->footer(
      "Example:\n  lathe generate last --prompt \"It is a truth\" --tokens 100 --temperature 0.7");
  command->callback([arguments, &context] {
    const HistoryStore history = open_store(context);
    const BackendRegistry registry = make_backends();
    RunConfig device;
    set_text(device, "run.device", arguments->device);
    TextModel model = open_text_model(history, registry, arguments->run, device.run.device);
    const double start = monotonic_seconds();
    if (!context.json) std::cout << arguments->prompt << std::flush;
    const std::string text = model.generate(arguments->prompt, arguments->tokens, arguments->sampling,
                                            [&](const std::string& piece) {
                                              if (!context.json) std::cout << piece << std::flush;
                                              return true;
                                            });
    print(context,
          Json{{"run", model.from.run},
               {"step", model.from.step},
               {"prompt", arguments->prompt},
               {"text", text},
               {"seconds", monotonic_seconds() - start}},
          [] { std::cout << '\n'; });
  });
}

}  // namespace

void register_train_commands(CLI::App& app, Context& context) {
  add_train(app, context);
  add_resume(app, context);
  add_generate(app, context);
}

}  // namespace lathe::cli
