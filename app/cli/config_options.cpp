#include "app/cli/config_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/presets.h"
#include "core/config/setting_info.h"
#include "core/platform/files.h"

namespace lathe::cli {
namespace {

bool is_list(const SettingInfo& info) {
  return info.type == SettingType::TextList || info.type == SettingType::Sources ||
         info.type == SettingType::Rules;
}

// An option that takes one value each time it is given, as often as wanted; read through results().
CLI::Option* add_repeatable(CLI::App& command, const std::string& name, const std::string& description) {
  return command.add_option(name, CLI::callback_t([](const CLI::results_t&) { return true; }), description)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

}  // namespace

ConfigOptions::ConfigOptions(CLI::App& command) : command_(command) {
  const std::string group = "Settings";
  command.add_option("--preset", preset_, "Start from a preset, such as tiny or 977m")->group(group);
  command.add_option("--config", file_, "Settings file (JSON) over the preset")->group(group);
  set_ = add_repeatable(
             command, "--set",
             "A setting over the file, such as model.layers=12; may be repeated. Each setting is a flag too: "
             "--model.layers 12. `lathe settings` lists them")
             ->type_name("KEY=VALUE")
             ->group(group);
  for (const SettingInfo& info : settings()) {
    // Sixty flags would bury the help: --set's description says where they are listed.
    flags_.push_back(
        add_repeatable(command, fmt::format("--{}", info.key), std::string(info.help))->group(""));
  }
}

RunConfig ConfigOptions::config(const RunConfig& base) const {
  RunConfig config = preset_.empty() ? base : load_preset(preset_);
  if (!file_.empty()) config = load_config(from_utf8(file_), config);

  std::map<const CLI::Option*, std::size_t> seen;  // how many values of each option were taken
  for (const CLI::Option* option : command_.parse_order()) {
    if (option == set_) {
      apply_assignment(config, option->results().at(seen[option]++));
      continue;
    }
    const auto flag = std::find(flags_.begin(), flags_.end(), option);
    if (flag == flags_.end()) continue;
    const SettingInfo& info = settings()[static_cast<std::size_t>(flag - flags_.begin())];
    const std::size_t count = seen[option]++;
    if (!is_list(info)) {
      set_text(config, info.key, option->results().at(count));
    } else if (count == 0) {  // a list given as several flags is set once, whole
      std::string lines;
      for (const std::string& line : option->results()) lines += (lines.empty() ? "" : "\n") + line;
      set_text(config, info.key, lines);
    }
  }
  return config;
}

bool ConfigOptions::given() const {
  return !preset_.empty() || !file_.empty() || set_->count() > 0 ||
         std::any_of(flags_.begin(), flags_.end(), [](const CLI::Option* flag) { return flag->count() > 0; });
}

std::string flag_suggestions(const std::vector<std::string>& unexpected) {
  std::string text;
  for (const std::string& argument : unexpected) {
    if (!argument.starts_with("--") || argument.find('.') == std::string::npos) continue;
    const std::string_view key = std::string_view(argument).substr(2, argument.find('=') - 2);
    const std::string_view near = nearest_key(key);
    if (!near.empty()) text += fmt::format("There is no setting '{}'. Did you mean --{}?\n", key, near);
  }
  return text;
}

}  // namespace lathe::cli
