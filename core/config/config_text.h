// Settings by key and text: what --set, flags, history rows and comparisons use.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/setting_info.h"

namespace lathe {

// Text of a setting's value; set_text() reads it back to the same value. Throws InvalidConfig on an unknown
// key.
std::string get_text(const RunConfig& config, std::string_view key);

// Sets one setting from text ("24", "15GiB", "3e-4", "true", "norms*18,gate_up*6"). Lists take their
// shorthand or JSON. Throws InvalidConfig naming key and reason, and then leaves `config` as it was. Ranges
// are not checked here: validate() reports them all together.
void set_text(RunConfig& config, std::string_view key, std::string_view text);

// Applies "key=value" as --set takes it. Throws InvalidConfig.
void apply_assignment(RunConfig& config, std::string_view assignment);

// Every setting as (key, text), in the table's order: the rows a history stores.
std::vector<std::pair<std::string, std::string>> setting_rows(const RunConfig& config);

struct SettingDifference {
  std::string key;
  std::string a_text;
  std::string b_text;

  bool operator==(const SettingDifference&) const = default;
};

// The settings in which two configurations differ, in the table's order.
std::vector<SettingDifference> diff(const RunConfig& a, const RunConfig& b);

}  // namespace lathe
