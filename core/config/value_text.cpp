#include "core/config/value_text.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/config/size_text.h"
#include "core/config/text_util.h"
#include "kernels/api/error.h"

namespace lathe {

std::string join_choices(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::size_t choice_index(std::string_view given, std::span<const std::string_view> names) {
  const std::string_view text = trim(given);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' is not one of the choices.", given),
              fmt::format("Write {}.", join_choices(names)));
}

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(std::string(text)).dump());  // the library's own strict check
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string value_text(std::int64_t value, std::string_view unit) {
  return unit == "bytes" ? format_bytes(value) : std::to_string(value);
}

std::string value_text(double value, std::string_view) {
  return format_real(value);
}
std::string value_text(bool value, std::string_view) {
  return value ? "true" : "false";
}
std::string value_text(const std::string& value, std::string_view) {
  return value;
}

std::string value_text(const AutoInt& value, std::string_view unit) {
  return value.automatic ? "auto" : value_text(value.value, unit);
}

void parse_value(std::string_view text, std::int64_t& value) {
  value = parse_whole_number(text);
}
void parse_value(std::string_view text, double& value) {
  value = parse_real(text);
}

void parse_value(std::string_view given, bool& value) {
  const std::string_view text = trim(given);
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (text == yes) return void(value = true);
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (text == no) return void(value = false);
  }
  throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' is neither true nor false.", given),
              "Write true or false.");
}

void parse_value(std::string_view text, std::string& value) {
  if (!is_utf8(text)) throw Error(ErrorCode::InvalidConfig, "the text is not valid UTF-8.");
  value = text;
}

void parse_value(std::string_view text, AutoInt& value) {
  value = trim(text) == "auto" ? AutoInt{} : AutoInt{false, parse_whole_number(text)};
}

std::string value_text(const RecomputeSetting& value, std::string_view) {
  if (value.automatic) return "auto";
  if (value.levels.size() == 1) return std::string(choice_text(value.levels.front()));
  std::string text;
  for (std::size_t begin = 0; begin < value.levels.size();) {
    std::size_t end = begin;
    while (end < value.levels.size() && value.levels[end] == value.levels[begin]) ++end;
    if (!text.empty()) text += ',';
    text += fmt::format("{}*{}", choice_text(value.levels[begin]), end - begin);
    begin = end;
  }
  return text;
}

void parse_value(std::string_view given, RecomputeSetting& value) {
  constexpr std::int64_t max_layers = 1024;  // model.layers' bound: keeps "norms*1e9" from filling memory
  if (trim(given) == "auto") {
    value = {true, RecomputeSetting{}.levels};
    return;
  }
  RecomputeSetting parsed{false, {}};
  for (const std::string_view part : split(given, ",")) {
    const std::size_t star = part.find('*');
    RecomputeLevel level{};
    parse_value(part.substr(0, star), level);
    std::int64_t count = 1;
    if (star != std::string_view::npos) count = parse_whole_number(part.substr(star + 1));
    if (count < 1 || count > max_layers - static_cast<std::int64_t>(parsed.levels.size())) {
      throw Error(ErrorCode::InvalidConfig,
                  fmt::format("'{}' does not name 1 to {} layers.", given, max_layers),
                  "Write one level for all layers, or a list such as norms*18,gate_up*6.");
    }
    parsed.levels.insert(parsed.levels.end(), static_cast<std::size_t>(count), level);
  }
  value = std::move(parsed);
}

}  // namespace lathe
