// What the table says about a setting besides its value, and how to walk over all settings with their
// typed values: the ground of forms, flags, history rows and reference texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/config/run_config.h"

namespace lathe {

// The kind of value, hence of editor. The C++ type of each is in settings.def and types.h.
enum class SettingType {
  Integer,
  Real,
  Boolean,
  Choice,
  Text,
  TextList,
  AutoInteger,
  Recompute,
  Sources,
  Rules
};

// What a setting changes about a run; joined by |.
enum Affects : unsigned { kNothing = 0, kMemory = 1, kSpeed = 2, kMaths = 4 };

// When a setting of an existing run may change. Each rule includes those after it: a live setting may also
// change on resume and in a fork.
enum class ChangeRule {
  Fixed,     // it shapes the weights: never, not even in a fork of this run
  Fork,      // only in a new run started from this one's weights
  OnResume,  // when the run is resumed
  Live       // while the run trains
};

// Bounds of a numeric setting; both ends are included, unless the upper one is open.
struct Range {
  double low;
  double high;
  bool high_open = false;

  bool bounded() const;  // false for any()
  bool contains(double value) const;
  // "1 to 1024", "at least 0", "0 to below 1"; empty when unbounded. `unit` "bytes" writes 512MiB.
  std::string text(std::string_view unit = {}) const;
};

struct SettingInfo {
  std::string_view key;            // "model.layers": what JSON, flags and history call it
  std::string_view section;        // "model"
  std::string_view name;           // "layers"
  std::string_view section_label;  // "Model"
  std::string_view label;          // "Layers"
  std::string_view unit;           // "tokens", "bytes", ""; or the key of the setting that names the unit
  std::string_view help;
  SettingType type;
  Range range;                                // Integer, Real, AutoInteger
  std::span<const std::string_view> choices;  // Choice: text names in order
  unsigned affects;                           // Affects
  ChangeRule change;
  std::string_view enabled_if;  // condition on another setting, see condition.h; empty: always

  // Access to the value in any RunConfig, by text and by JSON. The readers throw InvalidConfig with a
  // message that does not name the key (the callers in config_text.h and config_json.h add it).
  std::string (*get_text)(const RunConfig&, std::string_view unit);  // `unit`: info.unit
  void (*set_text)(RunConfig&, std::string_view);
  nlohmann::json (*get_json)(const RunConfig&);
  void (*set_json)(RunConfig&, const nlohmann::json&);
  bool (*equal)(const RunConfig&, const RunConfig&);
};

// All settings in the table's order (sections stay together). Lives as long as the program.
std::span<const SettingInfo> settings();

// The setting of that key, or nullptr.
const SettingInfo* find_setting(std::string_view key);

// The setting of that key; throws InvalidConfig naming the nearest key when there is none.
const SettingInfo& require_setting(std::string_view key);

// The known key nearest to a mistyped one ("model.layer", "hidden_size"), or "" when none is near.
std::string_view nearest_key(std::string_view key);

// The default value's text.
std::string default_text(const SettingInfo& info);

// The unit in words for this configuration: follows a unit that is another setting (schedule.unit).
std::string unit_text(const RunConfig& config, const SettingInfo& info);

// Stable lower-case names for reference texts: "integer", "on resume", "memory, speed".
std::string_view setting_type_name(SettingType type);
std::string_view change_rule_name(ChangeRule rule);
std::string affects_text(unsigned affects);

// Calls visitor(const SettingInfo&, value&) for every setting, with `value` the typed field of `config`
// (const when config is): overload the visitor by type to build one editor a kind.
template <class Config, class Visitor>
void for_each_setting(Config& config, Visitor&& visitor) {
  std::size_t index = 0;
#define LATHE_SECTION(section, Type, label)
#define LATHE_SETTING(section, field, ...) visitor(settings()[index++], config.section.field);
#define LATHE_SECTION_END(section, Type)
#include "core/config/settings.def"
}

}  // namespace lathe
