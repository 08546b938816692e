#include "core/config/condition.h"

#include <algorithm>

#include "core/config/text_util.h"
#include "kernels/api/error.h"

namespace lathe {

Condition parse_condition(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw Error(ErrorCode::Internal, "The condition '" + std::string(text) + "' has no '='.");
  }
  Condition condition;
  std::string_view key = text.substr(0, equals);
  if (key.ends_with('!')) {
    condition.equal = false;
    key.remove_suffix(1);
  }
  condition.key = trim(key);
  if (find_setting(condition.key) == nullptr) {
    throw Error(ErrorCode::Internal, "The condition '" + std::string(text) + "' names no setting.");
  }
  for (const std::string_view value : split(text.substr(equals + 1), "|"))
    condition.values.emplace_back(value);
  return condition;
}

std::string condition_words(const Condition& condition) {
  std::string text = condition.key + (condition.equal ? " is " : " is not ");
  for (std::size_t i = 0; i < condition.values.size(); ++i) {
    if (i > 0) text += " or ";
    text += condition.values[i].empty() ? "empty" : condition.values[i];
  }
  return text;
}

bool holds(const Condition& condition, const RunConfig& config) {
  const SettingInfo& info = require_setting(condition.key);
  const std::string value = info.get_text(config, info.unit);
  const bool found =
      std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end();
  return found == condition.equal;
}

bool is_enabled(const RunConfig& config, const SettingInfo& info) {
  return info.enabled_if.empty() || holds(parse_condition(info.enabled_if), config);
}

}  // namespace lathe
