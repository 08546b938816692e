// `lathe settings`: the reference of settings, from the table they are declared in.
#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "core/config/reference.h"

namespace lathe::cli {
namespace {

struct SettingsArguments {
  std::string format = "text";
  std::vector<std::string> words;
};

void print_settings(const Context& context, const SettingsArguments& arguments) {
  std::string query;
  for (const std::string& word : arguments.words) query += (query.empty() ? "" : " ") + word;
  const auto chosen = search_settings(query);
  if (chosen.empty()) {
    const std::string_view near = nearest_key(query);
    throw Error(ErrorCode::NotFound, fmt::format("No setting matches '{}'.", query),
                near.empty() ? std::string("`lathe settings` lists all settings.")
                             : fmt::format("Did you mean '{}'?", near));
  }
  if (context.json || arguments.format == "json") {
    std::cout << reference_json(chosen).dump(2) << '\n';
  } else if (arguments.format == "markdown") {
    std::cout << reference_markdown(chosen);
  } else {
    std::cout << reference_text(chosen);
  }
}

}  // namespace

void register_settings_command(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<SettingsArguments>();
  CLI::App* command =
      app.add_subcommand("settings", "List settings: default, range, unit, meaning, when it may change");
  command->add_option("query", arguments->words, "A key, a section, or words to search for");
  command->add_option("--format", arguments->format, "How to print")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  lathe settings                      all settings\n"
      "  lathe settings memory.recompute     one\n"
      "  lathe settings optimizer            a section\n"
      "  lathe settings weight decay         those that speak of both words\n"
      "  lathe settings --format markdown > settings.md");
  command->callback([arguments, &context] { print_settings(context, *arguments); });
}

}  // namespace lathe::cli
