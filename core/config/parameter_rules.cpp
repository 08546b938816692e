#include "core/config/parameter_rules.h"

namespace lathe {

bool matches_glob(std::string_view pattern, std::string_view name) {
  // Greedy with one point to come back to: on a mismatch the last * takes one character more.
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<std::size_t> rule_index(const std::vector<ParameterRule>& rules, std::string_view tensor_name) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (matches_glob(rules[i].match, tensor_name)) return i;
  }
  return std::nullopt;
}

}  // namespace lathe
