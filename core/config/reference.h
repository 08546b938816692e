// The reference of settings, generated from the table, as text for a terminal, JSON and Markdown.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/setting_info.h"

namespace lathe {

// Settings whose key, label or help contain every word of `query`, ignoring case; an exact key or section
// gives just that. An empty query gives all.
std::vector<const SettingInfo*> search_settings(std::string_view query);

std::string reference_text(std::span<const SettingInfo* const> chosen);
std::string reference_markdown(std::span<const SettingInfo* const> chosen);
nlohmann::ordered_json reference_json(std::span<const SettingInfo* const> chosen);

}  // namespace lathe
