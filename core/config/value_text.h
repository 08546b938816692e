// The text form of every type of setting: parse_value(value_text(x)) gives x back.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/config/types.h"

namespace lathe {

// An enum of types.h: its text names are found by argument-dependent lookup.
template <class T>
concept ChoiceEnum = std::is_enum_v<T> && requires(T value) {
  choice_names(value);
};

// The text names of an enum in the enumerators' order, with static lifetime.
template <ChoiceEnum Enum>
inline constexpr auto choices = choice_names(Enum{});

template <ChoiceEnum Enum>
constexpr std::string_view choice_text(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < choices<Enum>.size() ? choices<Enum>[index] : std::string_view("?");
}

// "a, b or c"
std::string join_choices(std::span<const std::string_view> names);

// Index of `text` among `names`; throws InvalidConfig listing them.
std::size_t choice_index(std::string_view text, std::span<const std::string_view> names);

// `unit` matters to whole numbers only: "bytes" are written with binary suffixes.
std::string value_text(std::int64_t value, std::string_view unit = {});
std::string value_text(double value, std::string_view unit = {});
std::string value_text(bool value, std::string_view unit = {});
std::string value_text(const std::string& value, std::string_view unit = {});
std::string value_text(const AutoInt& value, std::string_view unit = {});
std::string value_text(const RecomputeSetting& value, std::string_view unit = {});
std::string value_text(const std::vector<std::string>& value, std::string_view unit = {});
std::string value_text(const std::vector<DataSource>& value, std::string_view unit = {});
std::string value_text(const std::vector<ParameterRule>& value, std::string_view unit = {});

// Each throws InvalidConfig (without the key, which the caller adds) and then leaves `value` alone.
void parse_value(std::string_view text, std::int64_t& value);
void parse_value(std::string_view text, double& value);
void parse_value(std::string_view text, bool& value);
void parse_value(std::string_view text, std::string& value);  // must be UTF-8
void parse_value(std::string_view text, AutoInt& value);
void parse_value(std::string_view text, RecomputeSetting& value);
void parse_value(std::string_view text, std::vector<std::string>& value);  // one a line, or JSON
void parse_value(std::string_view text, std::vector<DataSource>& value);   // PATH*WEIGHT@TOKENS, ... or JSON
void parse_value(std::string_view text,
                 std::vector<ParameterRule>& value);  // GLOB member=value ...; ... or JSON

template <ChoiceEnum Enum>
std::string value_text(Enum value, std::string_view = {}) {
  return std::string(choice_text(value));
}

template <ChoiceEnum Enum>
void parse_value(std::string_view text, Enum& value) {
  value = static_cast<Enum>(choice_index(text, choices<Enum>));
}

// Whether `text` is valid UTF-8, as JSON and the history need it.
bool is_utf8(std::string_view text);

}  // namespace lathe
