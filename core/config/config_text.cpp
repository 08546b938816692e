#include "core/config/config_text.h"

#include <fmt/core.h>

#include "core/config/text_util.h"
#include "kernels/api/error.h"

namespace lathe {

std::string get_text(const RunConfig& config, std::string_view key) {
  const SettingInfo& info = require_setting(key);
  return info.get_text(config, info.unit);
}

void set_text(RunConfig& config, std::string_view key, std::string_view text) {
  const SettingInfo& info = require_setting(key);
  try {
    info.set_text(config, text);
  } catch (const Error& error) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("{}: {}", key, error.what_happened()),
                error.what_to_do());
  }
}

void apply_assignment(RunConfig& config, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' is not KEY=VALUE.", assignment),
                "Write for example model.layers=12; `lathe settings` lists all settings.");
  }
  set_text(config, trim(assignment.substr(0, equals)), assignment.substr(equals + 1));
}

std::vector<std::pair<std::string, std::string>> setting_rows(const RunConfig& config) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const SettingInfo& info : settings()) rows.emplace_back(info.key, info.get_text(config, info.unit));
  return rows;
}

std::vector<SettingDifference> diff(const RunConfig& a, const RunConfig& b) {
  std::vector<SettingDifference> differences;
  for (const SettingInfo& info : settings()) {
    if (info.equal(a, b)) continue;
    differences.push_back({std::string(info.key), info.get_text(a, info.unit), info.get_text(b, info.unit)});
  }
  return differences;
}

}  // namespace lathe
