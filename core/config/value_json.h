// The JSON form of every type of setting. Readers accept the text form too where a string stands ("4k"),
// and throw InvalidConfig without naming the key: callers add it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/types.h"
#include "core/config/value_text.h"

namespace lathe {

nlohmann::json value_to_json(std::int64_t value);
nlohmann::json value_to_json(double value);
nlohmann::json value_to_json(bool value);
nlohmann::json value_to_json(const std::string& value);
nlohmann::json value_to_json(const AutoInt& value);
nlohmann::json value_to_json(const RecomputeSetting& value);
nlohmann::json value_to_json(const std::vector<std::string>& value);
nlohmann::json value_to_json(const std::vector<DataSource>& value);
nlohmann::json value_to_json(const std::vector<ParameterRule>& value);

void value_from_json(const nlohmann::json& json, std::int64_t& value);
void value_from_json(const nlohmann::json& json, double& value);
void value_from_json(const nlohmann::json& json, bool& value);
void value_from_json(const nlohmann::json& json, std::string& value);
void value_from_json(const nlohmann::json& json, AutoInt& value);
void value_from_json(const nlohmann::json& json, RecomputeSetting& value);
void value_from_json(const nlohmann::json& json, std::vector<std::string>& value);
void value_from_json(const nlohmann::json& json, std::vector<DataSource>& value);
void value_from_json(const nlohmann::json& json, std::vector<ParameterRule>& value);

// Throws InvalidConfig saying what was expected and what stands there instead.
const std::string& require_string(const nlohmann::json& json, std::string_view expected);

template <ChoiceEnum Enum>
nlohmann::json value_to_json(Enum value) {
  return std::string(choice_text(value));
}

template <ChoiceEnum Enum>
void value_from_json(const nlohmann::json& json, Enum& value) {
  parse_value(require_string(json, "one of " + join_choices(choices<Enum>)), value);
}

}  // namespace lathe
