// Small helpers on text that the readers of settings share.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace lathe {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Without white space at both ends.
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The parts between any of `separators`, trimmed; empty parts are kept.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

// Levenshtein distance in bytes, ignoring ASCII case.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, or "" when none is near enough to be a typo of it.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lathe
