// `lathe profile`: time by op beside its floor; also what calibrates predictions for this GPU.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/config_options.h"
#include "app/cli/text_table.h"
#include "app/common/backends.h"
#include "core/config/config_json.h"
#include "core/experiment/profile.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"

namespace lathe::cli {

namespace {

struct Arguments {
  explicit Arguments(CLI::App& command) : options(command) {}
  ConfigOptions options;
  std::string run;
  ProfileRequest request;
};

void print_text(const Profile& profile) {
  for (const SequenceProfile& sequence : profile.sequences) {
    std::cout << fmt::format("{}: {:.3f} ms as it trains, {:.3f} ms summed over {} ops, idle {:.1f}%\n",
                             sequence_name(sequence.sequence), sequence.wall_ms, sequence.sum_ms,
                             sequence.ops.size(), 100 * sequence.idle_share());
    TextTable table({"kind", ">ops", ">ms", ">floor ms", ">of floor", ">share"});
    for (const ProfileRow& row : profile_rows(sequence, ProfileBy::Kind)) {
      table.add({row.name, std::to_string(row.count), fmt::format("{:.3f}", row.ms),
                 row.floor_ms > 0 ? fmt::format("{:.3f}", row.floor_ms) : "-",
                 row.floor_ms > 0 ? fmt::format("{:.2f}x", row.ms / row.floor_ms) : "-",
                 fmt::format("{:.1f}%", 100 * row.ms / sequence.sum_ms)});
    }
    std::cout << table.text() << '\n';
  }
}

}  // namespace

void register_profile_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("profile", "Time every op of a step beside its floor");
  auto arguments = std::make_shared<Arguments>(*command);
  command->add_option("--run", arguments->run, "Profile a run's settings and store the profile with it");
  command
      ->add_option("--repetitions", arguments->request.repetitions, "Timings of each op; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command
      ->add_option("--seconds", arguments->request.load.seconds, "Train at least this long for the wall time")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  command->footer(
      "The timings also calibrate predictions for this GPU.\n"
      "Examples:\n"
      "  lathe profile --preset 977m --set precision.gradients=bf16\n"
      "  lathe profile --run last");
  command->callback([arguments, &context] {
    const std::filesystem::path home = context.home.empty() ? default_home() : context.home;
    RunConfig base;
    std::filesystem::path run_folder;
    if (!arguments->run.empty()) {
      const HistoryStore history(home);
      const RunDetails details = history.details(history.find(arguments->run));
      base = from_json_text(details.settings_json, {}, "the history");
      run_folder = details.folder;
    }
    const RunConfig config = arguments->options.config(base);
    const BackendRegistry registry = make_backends();
    PrepareRequest request;
    request.home = home;
    PreparedModel model = plan_model(config, registry, request);
    allocate_model(model, registry, request);
    Calibration calibration = load_calibration(home, model.device.name, calibration_versions(model.device));
    Calibration rates;  // floors rest on rates, not on what ops took before
    rates.rates = calibration.rates;
    const CostModel costs(find_gpu(model.device.name), rates);
    const Profile profile = profile_model(model, costs, arguments->request);
    if (model.device.target.kind == DeviceKind::Cuda) {
      add_to_calibration(model, profile, calibration);
      save_calibration(home, calibration);
    }
    const nlohmann::ordered_json json = to_json(profile);
    if (!run_folder.empty()) write_file_atomically(run_folder / kProfileFile, json.dump(1));
    print(context, json, [&] { print_text(profile); });
  });
}

}  // namespace lathe::cli
