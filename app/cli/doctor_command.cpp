// `lathe doctor`: what this machine offers and what is in the way, each with what to do.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "app/cli/commands.h"
#include "app/common/backends.h"
#include "core/config/presets.h"
#include "core/config/resources.h"
#include "core/experiment/doctor.h"
#include "core/platform/child_process.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "kernels/cuda/pinned_memory.h"

namespace lathe::cli {

namespace {

struct Arguments {
  bool quick = false;
  std::string probe;
};

Check check_presets() {
  std::string names;
  for (const auto& preset : list_presets()) names += (names.empty() ? "" : ", ") + preset.name;
  return {"presets", Finding::Good, fmt::format("{} in {}", names, to_utf8(resources_folder()))};
}

// What the child does: a line of JSON a check, at once, since the next one may crash it.
void probe(const std::string& backend, const std::filesystem::path& home, bool measure) {
  const auto say = [](const std::string& line) { std::cout << line << std::endl; };
  const auto found = [&](const Check& check) { say(check_line(check)); };
  const auto doing = [&](const std::string& what) { say(doing_line(what)); };
  doing("loading the driver and its libraries");
  const BackendRegistry registry = backend == "cpu" ? make_cpu_backends() : make_backends();
  for (const BackendEntry& entry : registry) {
    if (entry.name != backend) continue;
    check_device(entry, home, measure, found, doing);
    if (backend != "cuda" || !entry.backend || !measure) continue;
    doing("page-locking host memory");
    const int64_t asked = std::min(int64_t{2} << 30, system_memory().available_bytes / 4);
    if (const auto held = pinnable_bytes(asked)) found(check_pinned_memory(*held, asked));
  }
}

std::vector<Check> all_checks(const std::filesystem::path& home, bool quick) {
  std::vector<Check> checks = check_host(home);
  checks.push_back(attempt("presets", check_presets));
  for (const std::string backend : {"cuda", "cpu"}) {
    std::vector<std::string> command = {
        to_utf8(this_program()), "--home", to_utf8(home), "doctor", "--probe", backend};
    if (quick) command.emplace_back("--quick");
    const double seconds = quick ? 30 : 120;
    for (Check& check : checks_of_child(command, backend, seconds)) checks.push_back(std::move(check));
  }
  return checks;
}

void print_text(const std::vector<Check>& checks) {
  size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.subject.size());
  std::cout << "lathe " LATHE_VERSION "\n";
  for (const Check& check : checks) {
    const char* mark = check.finding == Finding::Good      ? ""
                       : check.finding == Finding::Warning ? "note: "
                                                           : "BAD: ";
    std::cout << fmt::format("  {:<{}}  {}{}\n", check.subject, width, mark, check.text);
  }
}

}  // namespace

void register_doctor_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("doctor", "Say what this machine offers and what is in the way");
  auto arguments = std::make_shared<Arguments>();
  command->add_flag("--quick", arguments->quick, "Measure nothing: seconds instead of a minute");
  // What the command runs in a child, so that a driver that crashes or hangs becomes a finding.
  command->add_option("--probe", arguments->probe)->group("")->check(CLI::IsMember({"cuda", "cpu"}));
  command->footer(
      "It measures the rates of matrix products, attention, memory and copies, and the memory that driver "
      "and\n"
      "libraries take; later estimates use them.\n"
      "Exit code 0 when one can train here, else that of the first thing in the way.\n"
      "Examples:\n  lathe doctor\n  lathe doctor --quick --json | jq -r .home");
  command->callback([arguments, &context] {
    const std::filesystem::path home = context.home.empty() ? default_home() : context.home;
    if (!arguments->probe.empty()) return probe(arguments->probe, home, !arguments->quick);
    const std::vector<Check> checks = all_checks(home, arguments->quick);
    nlohmann::ordered_json document;
    document["version"] = LATHE_VERSION;
    document["home"] = to_utf8(home);
    document["checks"] = nlohmann::ordered_json::array();
    for (const Check& check : checks) {
      document["checks"].push_back(to_json(check));
      if (check.finding == Finding::Bad && context.exit_code == 0) context.exit_code = exit_code(check.code);
    }
    print(context, document, [&] { print_text(checks); });
  });
}

}  // namespace lathe::cli
