#include "core/config/setting_info.h"

#include <fmt/core.h>

#include <limits>
#include <type_traits>

#include "core/config/size_text.h"
#include "core/config/text_util.h"
#include "core/config/value_json.h"
#include "core/config/value_text.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

using enum ChangeRule;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The words of the table's range column.
constexpr Range any() {
  return {-kInfinity, kInfinity};
}
constexpr Range between(double low, double high) {
  return {low, high};
}
constexpr Range at_least(double low) {
  return {low, kInfinity};
}
constexpr Range from_below(double low, double high) {
  return {low, high, true};
}

template <class T>
consteval SettingType type_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) return SettingType::Integer;
  if constexpr (std::is_same_v<T, double>) return SettingType::Real;
  if constexpr (std::is_same_v<T, bool>) return SettingType::Boolean;
  if constexpr (std::is_same_v<T, std::string>) return SettingType::Text;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return SettingType::TextList;
  if constexpr (std::is_same_v<T, AutoInt>) return SettingType::AutoInteger;
  if constexpr (std::is_same_v<T, RecomputeSetting>) return SettingType::Recompute;
  if constexpr (std::is_same_v<T, std::vector<DataSource>>) return SettingType::Sources;
  if constexpr (std::is_same_v<T, std::vector<ParameterRule>>) return SettingType::Rules;
  if constexpr (ChoiceEnum<T>) return SettingType::Choice;
}

template <class T>
constexpr std::span<const std::string_view> choices_of() {
  if constexpr (ChoiceEnum<T>) return choices<T>;
  return {};
}

// The access functions of one field; Section and Field are pointers to members.
template <auto Section, auto Field>
struct Access {
  using Value = std::remove_cvref_t<decltype(std::declval<RunConfig>().*Section.*Field)>;

  static std::string get_text(const RunConfig& config, std::string_view unit) {
    return value_text(config.*Section.*Field, unit);
  }
  static void set_text(RunConfig& config, std::string_view text) {
    parse_value(text, config.*Section.*Field);
  }
  static nlohmann::json get_json(const RunConfig& config) { return value_to_json(config.*Section.*Field); }
  static void set_json(RunConfig& config, const nlohmann::json& json) {
    value_from_json(json, config.*Section.*Field);
  }
  static bool equal(const RunConfig& a, const RunConfig& b) { return a.*Section.*Field == b.*Section.*Field; }
};

// Labels of the sections, by the sections' own names.
namespace section_labels {
#define LATHE_SECTION(section, Type, label) constexpr std::string_view section = label;
#define LATHE_SETTING(...)
#define LATHE_SECTION_END(section, Type)
#include "core/config/settings.def"
}  // namespace section_labels

// The table: one row a setting, in settings.def's order.
constexpr SettingInfo kSettings[] = {
#define LATHE_SECTION(section, Type, label)
#define LATHE_SETTING(section_, field_, type_, default_, label_, unit_, range_, affects_, change_,        \
                      enabled_if_, help_)                                                                 \
  SettingInfo{.key = #section_ "." #field_,                                                               \
              .section = #section_,                                                                       \
              .name = #field_,                                                                            \
              .section_label = section_labels::section_,                                                  \
              .label = label_,                                                                            \
              .unit = unit_,                                                                              \
              .help = help_,                                                                              \
              .type = type_of<type_>(),                                                                   \
              .range = range_,                                                                            \
              .choices = choices_of<type_>(),                                                             \
              .affects = affects_,                                                                        \
              .change = change_,                                                                          \
              .enabled_if = enabled_if_,                                                                  \
              .get_text = Access<&RunConfig::section_, &decltype(RunConfig::section_)::field_>::get_text, \
              .set_text = Access<&RunConfig::section_, &decltype(RunConfig::section_)::field_>::set_text, \
              .get_json = Access<&RunConfig::section_, &decltype(RunConfig::section_)::field_>::get_json, \
              .set_json = Access<&RunConfig::section_, &decltype(RunConfig::section_)::field_>::set_json, \
              .equal = Access<&RunConfig::section_, &decltype(RunConfig::section_)::field_>::equal},
#define LATHE_SECTION_END(section, Type)
#include "core/config/settings.def"
};

}  // namespace

bool Range::bounded() const {
  return low > -kInfinity || high < kInfinity;
}

bool Range::contains(double value) const {
  return value >= low && (high_open ? value < high : value <= high);  // false for NaN
}

std::string Range::text(std::string_view unit) const {
  const auto bound = [&](double value) {
    return unit == "bytes" ? format_bytes(static_cast<std::int64_t>(value)) : format_real(value);
  };
  if (!bounded()) return "";
  if (high == kInfinity) return fmt::format("at least {}", bound(low));
  return fmt::format("{} to {}{}", bound(low), high_open ? "below " : "", bound(high));
}

std::span<const SettingInfo> settings() {
  return kSettings;
}

const SettingInfo* find_setting(std::string_view key) {
  for (const SettingInfo& info : kSettings) {
    if (info.key == key) return &info;
  }
  return nullptr;
}

std::string_view nearest_key(std::string_view key) {
  // "model.layer" is near a key, "layer" near a name, "hidden_size" contains one.
  std::vector<std::string_view> keys;
  std::vector<std::string_view> names;
  for (const SettingInfo& info : kSettings) {
    keys.push_back(info.key);
    names.push_back(info.name);
  }
  const std::string_view name = key.substr(key.rfind('.') + 1);  // npos + 1 = 0: the whole key
  const auto key_of = [&](std::string_view found) {
    for (const SettingInfo& info : kSettings) {
      if (info.name.data() == found.data()) return info.key;
    }
    return std::string_view();
  };
  for (const std::string_view known : names) {
    if (known == name) return key_of(known);
  }
  if (const std::string_view found = nearest(key, keys); !found.empty()) return found;
  if (const std::string_view found = nearest(name, names); !found.empty()) return key_of(found);
  for (const std::string_view known : names) {
    if (known.size() >= 3 && name.find(known) != std::string_view::npos) return key_of(known);
  }
  return {};
}

const SettingInfo& require_setting(std::string_view key) {
  if (const SettingInfo* info = find_setting(key)) return *info;
  const std::string_view near = nearest_key(key);
  throw Error(ErrorCode::InvalidConfig, fmt::format("There is no setting '{}'.", key),
              near.empty() ? std::string("`lathe settings` lists all settings.")
                           : fmt::format("Did you mean '{}'? `lathe settings` lists all settings.", near));
}

std::string default_text(const SettingInfo& info) {
  return info.get_text(RunConfig{}, info.unit);
}

std::string unit_text(const RunConfig& config, const SettingInfo& info) {
  if (const SettingInfo* other = find_setting(info.unit)) return other->get_text(config, other->unit);
  return std::string(info.unit);
}

std::string_view setting_type_name(SettingType type) {
  switch (type) {
    case SettingType::Integer:
      return "integer";
    case SettingType::Real:
      return "number";
    case SettingType::Boolean:
      return "true or false";
    case SettingType::Choice:
      return "choice";
    case SettingType::Text:
      return "text";
    case SettingType::TextList:
      return "list of texts";
    case SettingType::AutoInteger:
      return "integer or auto";
    case SettingType::Recompute:
      return "recompute levels";
    case SettingType::Sources:
      return "list of data sources";
    case SettingType::Rules:
      return "list of parameter rules";
  }
  return "unknown";
}

std::string_view change_rule_name(ChangeRule rule) {
  switch (rule) {
    case ChangeRule::Fixed:
      return "fixed";
    case ChangeRule::Fork:
      return "needs a fork";
    case ChangeRule::OnResume:
      return "on resume";
    case ChangeRule::Live:
      return "live";
  }
  return "unknown";
}

std::string affects_text(unsigned affects) {
  std::string text;
  const auto add = [&](unsigned flag, std::string_view name) {
    if ((affects & flag) == 0) return;
    if (!text.empty()) text += ", ";
    text += name;
  };
  add(kMemory, "memory");
  add(kSpeed, "speed");
  add(kMaths, "maths");
  return text;
}

}  // namespace lathe
