// `lathe doctor`: what this machine offers and what is in the way, each with what to do.
#include <fmt/format.h>

#include <functional>
#include <iostream>
#include <vector>

#include "app/cli/commands.h"
#include "app/common/backends.h"
#include "core/config/presets.h"
#include "core/config/resources.h"
#include "core/history/history_store.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "core/platform/process.h"

namespace lathe::cli {

namespace {

using Json = nlohmann::ordered_json;

enum class Finding { Good, Warning, Bad };

struct Check {
  std::string subject;
  Finding finding = Finding::Good;
  std::string text;
  ErrorCode code = ErrorCode::Internal;  // of a bad one
};

const char* finding_name(Finding finding) {
  switch (finding) {
    case Finding::Good:
      return "good";
    case Finding::Warning:
      return "warning";
    case Finding::Bad:
      return "bad";
  }
  return "bad";
}

// Runs a check whose Error is a finding, too.
Check attempt(const std::string& subject, const std::function<Check()>& look) {
  try {
    return look();
  } catch (const Error& error) {
    return {subject, Finding::Bad, error.what(), error.code()};
  }
}

Check check_home(const std::filesystem::path& home) {
  const FileSystemTraits traits = file_system_traits(home);
  const HistoryStore store(home);  // refuses, with advice, what can't hold a history
  return {"history", Finding::Good,
          fmt::format("{} ({}), {} runs", to_utf8(home), traits.kind, store.list().size())};
}

Check check_disk(const std::filesystem::path& home) {
  const int64_t free = free_disk_bytes(home);
  // The reference model's checkpoint with 8-bit states takes about 6 GiB, and two must fit.
  const bool scarce = free < (int64_t{12} << 30);
  return {"disk", scarce ? Finding::Warning : Finding::Good,
          fmt::format("{} free{}", bytes_text(free), scarce ? "; checkpoints of a 1B model need more" : "")};
}

Check check_memory() {
  const SystemMemory memory = system_memory();
  return {"host memory", Finding::Good,
          fmt::format("{} of {} available, {} cores", bytes_text(memory.available_bytes),
                      bytes_text(memory.total_bytes), logical_cores())};
}

Check check_device(const BackendEntry& entry) {
  if (!entry.backend) return {entry.name, Finding::Warning, entry.unavailable};
  const DeviceInfo device = entry.backend->device();
  std::string text = device.name;
  if (device.total_bytes > 0) {
    text += fmt::format(", {} of {} free", bytes_text(device.free_bytes), bytes_text(device.total_bytes));
  }
  for (const auto& [name, version] : device.versions) text += fmt::format(", {} {}", name, version);
  return {entry.name, Finding::Good, text};
}

}  // namespace

void register_doctor_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("doctor", "Say what this machine offers and what is in the way");
  command->footer(
      "Exit code 0 when one can train here, else that of the first thing in the way.\n"
      "Examples:\n  lathe doctor\n  lathe doctor --json | jq -r .home");
  command->callback([&context] {
    const std::filesystem::path home = context.home.empty() ? default_home() : context.home;
    std::vector<Check> checks;
    checks.push_back(attempt("history", [&] { return check_home(home); }));
    checks.push_back(attempt("disk", [&] { return check_disk(home); }));
    checks.push_back(attempt("host memory", check_memory));
    checks.push_back(attempt("presets", [] {
      std::string names;
      for (const auto& preset : list_presets()) names += (names.empty() ? "" : ", ") + preset.name;
      return Check{"presets", Finding::Good, fmt::format("{} in {}", names, to_utf8(resources_folder()))};
    }));
    const BackendRegistry registry = make_backends();
    for (const BackendEntry& entry : registry) {
      checks.push_back(attempt(entry.name, [&] { return check_device(entry); }));
    }
    Json document;
    document["version"] = LATHE_VERSION;
    document["home"] = to_utf8(home);
    document["checks"] = Json::array();
    for (const Check& check : checks) {
      document["checks"].push_back(
          {{"subject", check.subject}, {"finding", finding_name(check.finding)}, {"text", check.text}});
      if (check.finding == Finding::Bad && context.exit_code == 0) context.exit_code = exit_code(check.code);
    }
    print(context, document, [&] {
      std::cout << "lathe " LATHE_VERSION "\n";
      for (const Check& check : checks) {
        const char* mark = check.finding == Finding::Good      ? ""
                           : check.finding == Finding::Warning ? "note: "
                                                               : "BAD: ";
        std::cout << fmt::format("  {:<12} {}{}\n", check.subject, mark, check.text);
      }
    });
  });
}

}  // namespace lathe::cli
