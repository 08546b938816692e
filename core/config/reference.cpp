#include "core/config/reference.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "core/config/condition.h"
#include "core/config/text_util.h"
#include "core/config/value_text.h"

namespace lathe {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// "integer, 1 to 1024" or "fp32, split or none"
std::string values_text(const SettingInfo& info) {
  if (info.type == SettingType::Choice) return join_choices(info.choices);
  std::string text(setting_type_name(info.type));
  if (const std::string range = info.range.text(info.unit); !range.empty()) text += ", " + range;
  return text;
}

std::string unit_words(const SettingInfo& info) {
  return find_setting(info.unit) == nullptr ? std::string(info.unit) : fmt::format("as {} says", info.unit);
}

std::string default_words(const SettingInfo& info) {
  const std::string text = default_text(info);
  return text.empty() ? "empty" : text;
}

std::string affects_words(const SettingInfo& info) {
  const std::string text = affects_text(info.affects);
  return text.empty() ? "nothing in training" : text;
}

// Breaks `text` into lines of at most `width` columns, each behind `indent`.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t width) {
  std::string result;
  std::string line;
  for (const std::string_view word : split(text, " ")) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      result += fmt::format("{}{}\n", indent, line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return result + fmt::format("{}{}\n", indent, line);
}

// A table cell: pipes would end it.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::vector<const SettingInfo*> search_settings(std::string_view query) {
  std::vector<const SettingInfo*> found;
  const std::string wanted = lower(trim(query));
  for (const SettingInfo& info : settings()) {
    if (info.key == wanted) return {&info};
    if (info.section == wanted) found.push_back(&info);
  }
  if (!found.empty()) return found;
  for (const SettingInfo& info : settings()) {
    const std::string text =
        lower(fmt::format("{} {} {} {}", info.key, info.section_label, info.label, info.help));
    const auto words = split(wanted, " ");
    if (std::all_of(words.begin(), words.end(),
                    [&](std::string_view word) { return text.find(word) != std::string::npos; })) {
      found.push_back(&info);
    }
  }
  return found;
}

std::string reference_text(std::span<const SettingInfo* const> chosen) {
  std::string text;
  std::string_view section;
  for (const SettingInfo* info : chosen) {
    if (info->section != section) {
      text += fmt::format("{}{}\n", section.empty() ? "" : "\n", info->section_label);
      section = info->section;
    }
    const std::string unit = info->unit.empty() ? "" : fmt::format(" ({})", unit_words(*info));
    text += fmt::format("  {} = {}{}\n", info->key, default_words(*info), unit);
    text += wrapped(info->help, "      ", 90);
    text += wrapped(fmt::format("{}; changes {}; may change: {}.", values_text(*info), affects_words(*info),
                                change_rule_name(info->change)),
                    "      ", 90);
    if (!info->enabled_if.empty())
      text += fmt::format("      Only when {}.\n", condition_words(parse_condition(info->enabled_if)));
  }
  return text;
}

std::string reference_markdown(std::span<const SettingInfo* const> chosen) {
  std::string text = "# Settings\n";
  std::string_view section;
  for (const SettingInfo* info : chosen) {
    if (info->section != section) {
      text += fmt::format(
          "\n## {}\n\n| Setting | Default | Values | Unit | Changes | May change | Meaning |\n"
          "|---|---|---|---|---|---|---|\n",
          info->section_label);
      section = info->section;
    }
    const std::string only =
        info->enabled_if.empty() ? "" : fmt::format(" Only when `{}`.", info->enabled_if);
    text += fmt::format("| `{}` | `{}` | {} | {} | {} | {} | {} |\n", info->key, cell(default_words(*info)),
                        cell(values_text(*info)), unit_words(*info), affects_words(*info),
                        change_rule_name(info->change),
                        cell(fmt::format("**{}.** {}{}", info->label, info->help, only)));
  }
  return text;
}

nlohmann::ordered_json reference_json(std::span<const SettingInfo* const> chosen) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const RunConfig defaults;
  for (const SettingInfo* info : chosen) {
    nlohmann::ordered_json entry = {{"key", info->key},
                                    {"section", info->section},
                                    {"section_label", info->section_label},
                                    {"label", info->label},
                                    {"type", setting_type_name(info->type)},
                                    {"default", info->get_json(defaults)},
                                    {"unit", info->unit},
                                    {"help", info->help},
                                    {"affects", affects_text(info->affects)},
                                    {"change", change_rule_name(info->change)},
                                    {"enabled_if", info->enabled_if}};
    if (!info->choices.empty())
      entry["choices"] = std::vector<std::string>(info->choices.begin(), info->choices.end());
    if (info->range.bounded()) entry["range"] = info->range.text(info->unit);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace lathe
