// Conditions of one setting on another, as the table's enabled_if column writes them.
//   KEY=VALUE    KEY=VALUE|VALUE    KEY!=VALUE     (values in text form; an empty value is allowed)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/setting_info.h"

namespace lathe {

struct Condition {
  std::string key;
  bool equal = true;                // false: "!="
  std::vector<std::string> values;  // any of them
};

// Throws Internal when `text` has no '=' or names no setting: the table itself would be wrong.
Condition parse_condition(std::string_view text);

// In words: "schedule.kind is wsd", "run.init_from is not empty".
std::string condition_words(const Condition& condition);

bool holds(const Condition& condition, const RunConfig& config);

// Whether a setting has any effect in this configuration; forms grey it out otherwise.
bool is_enabled(const RunConfig& config, const SettingInfo& info);

}  // namespace lathe
