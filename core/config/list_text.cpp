// Text forms of the list settings: a shorthand where it says everything, JSON where it would be ambiguous.
#include <fmt/core.h>

#include <algorithm>

#include "core/config/size_text.h"
#include "core/config/text_util.h"
#include "core/config/value_json.h"
#include "core/config/value_text.h"
#include "core/platform/json.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

using nlohmann::json;

bool looks_like_json(std::string_view text) {
  return !text.empty() && text.front() == '[';
}

template <class List>
void parse_json_list(std::string_view text, List& value) {
  json document;
  try {
    document = parse_json(text);
  } catch (const json::parse_error& error) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("the JSON list breaks off at byte {}.", error.byte),
                "A value that starts with [ is read as JSON.");
  } catch (const json::exception& error) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("the JSON list can't be read ({}).", error.what()),
                "A value that starts with [ is read as JSON.");
  }
  value_from_json(document, value);
}

// Invalid UTF-8 cannot get in through a reader; replaced, should a program have put it there.
template <class List>
std::string json_text(const List& value) {
  return value_to_json(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

// Whether the shorthand can hold a word: nothing that the parser would split, trim or take for JSON.
bool is_plain(std::string_view word, std::string_view reserved) {
  return !word.empty() && word == trim(word) && word.front() != '[' &&
         word.find_first_of(reserved) == std::string_view::npos;
}

double parse_member(std::string_view name, std::string_view text) {
  try {
    return parse_real(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", name, error.what_happened()), error.what_to_do());
  }
}

ParameterRule parse_rule(std::string_view text) {
  ParameterRule rule;
  for (const std::string_view word : split(text, " \t")) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (rule.match.empty() && equals == std::string_view::npos) {
      rule.match = word;
      continue;
    }
    const std::string_view name = word.substr(0, equals);
    const std::string_view number = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (!rule.match.empty() && name == "lr_factor") {
      rule.lr_factor = parse_member(name, number);
    } else if (!rule.match.empty() && name == "weight_decay") {
      rule.weight_decay = parse_member(name, number);
    } else if (!rule.match.empty() && name == "init_std") {
      rule.init_std = parse_member(name, number);
    } else {
      throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' is not a parameter rule at '{}'.", text, word),
                  "Write a glob, then lr_factor=, weight_decay= or init_std=: '*norm* weight_decay=0; embed* "
                  "lr_factor=0.5'.");
    }
  }
  return rule;
}

// Splits "head<mark>number" at the last mark. Without a digit behind it the mark belongs to the path, as in
// "me@host". Returns the number's text, or "".
std::string_view take_number(std::string_view& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos || at + 1 == text.size()) return {};
  const char first = text[at + 1];
  if (!is_digit(first) && first != '.' && first != '-') return {};
  const std::string_view number = text.substr(at + 1);
  text = trim(text.substr(0, at));
  return number;
}

DataSource parse_source(std::string_view text) {
  DataSource source;
  std::string_view path = text;
  const std::string_view tokens = take_number(path, '@');
  if (!tokens.empty()) source.from_tokens = parse_whole_number(tokens);
  const std::string_view weight = take_number(path, '*');
  if (!weight.empty()) source.weight = parse_member("weight", weight);
  if (path.empty()) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' names no dataset.", text),
                "Write PATH, PATH*WEIGHT or PATH*WEIGHT@FROM_TOKENS, separated by commas.");
  }
  parse_value(path, source.path);
  return source;
}

}  // namespace

std::string value_text(const std::vector<std::string>& value, std::string_view) {
  if (value.empty()) return "";
  if (value.size() == 1 && is_plain(value.front(), "\n\r")) return value.front();
  return json_text(value);
}

void parse_value(std::string_view text, std::vector<std::string>& value) {
  if (looks_like_json(trim(text))) return parse_json_list(trim(text), value);
  std::vector<std::string> items;
  for (const std::string_view line : split(text, "\n")) {
    if (!line.empty()) parse_value(line, items.emplace_back());
  }
  value = std::move(items);
}

std::string value_text(const std::vector<DataSource>& value, std::string_view) {
  const bool plain = std::all_of(value.begin(), value.end(),
                                 [](const DataSource& source) { return is_plain(source.path, ",*@\n\r"); });
  if (!plain) return json_text(value);
  std::string text;
  for (const DataSource& source : value) {
    if (!text.empty()) text += ',';
    text += source.path;
    if (source.weight != 1) text += '*' + format_real(source.weight);
    if (source.from_tokens != 0) text += '@' + std::to_string(source.from_tokens);
  }
  return text;
}

void parse_value(std::string_view text, std::vector<DataSource>& value) {
  if (looks_like_json(trim(text))) return parse_json_list(trim(text), value);
  std::vector<DataSource> sources;
  for (const std::string_view part : split(text, ",\n")) {
    if (!part.empty()) sources.push_back(parse_source(part));
  }
  value = std::move(sources);
}

std::string value_text(const std::vector<ParameterRule>& value, std::string_view) {
  const bool plain = std::all_of(value.begin(), value.end(),
                                 [](const ParameterRule& rule) { return is_plain(rule.match, " \t\n\r;="); });
  if (!plain) return json_text(value);
  std::string text;
  for (const ParameterRule& rule : value) {
    if (!text.empty()) text += "; ";
    text += rule.match;
    if (rule.lr_factor != 1) text += " lr_factor=" + format_real(rule.lr_factor);
    if (rule.weight_decay) text += " weight_decay=" + format_real(*rule.weight_decay);
    if (rule.init_std) text += " init_std=" + format_real(*rule.init_std);
  }
  return text;
}

void parse_value(std::string_view text, std::vector<ParameterRule>& value) {
  if (!is_utf8(text)) throw Error(ErrorCode::InvalidConfig, "the text is not valid UTF-8.");
  if (looks_like_json(trim(text))) return parse_json_list(trim(text), value);
  std::vector<ParameterRule> rules;
  for (const std::string_view part : split(text, ";\n")) {
    if (!part.empty()) rules.push_back(parse_rule(part));
  }
  value = std::move(rules);
}

}  // namespace lathe
