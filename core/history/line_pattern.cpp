#include "core/history/line_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/api/error.h"

namespace lathe {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {}, [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : +c; });
}

// "2026-01-31T12:34:56.789Z", with a space for the T, a comma for the point, +hh:mm for the Z, or less of it.
std::optional<double> parse_time(std::string_view text) {
  int fields[6] = {0, 1, 1, 0, 0, 0};
  static constexpr char before[] = {0, '-', '-', 'T', ':', ':'};
  size_t at = 0;
  int read = 0;
  for (; read < 6 && at < text.size(); ++read) {
    if (read > 0) {
      if (text[at] != before[read] && !(read == 3 && text[at] == ' ')) break;
      ++at;
    }
    const size_t digits = read == 0 ? 4 : 2;
    if (at + digits > text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + digits, fields[read]);
    if (error != std::errc() || end != text.data() + at + digits) return std::nullopt;
    at += digits;
  }
  if (read < 3 || read == 4) return std::nullopt;
  double fraction = 0;
  if (read == 6 && at < text.size() && (text[at] == '.' || text[at] == ',')) {
    double digit = 0.1;
    for (++at; at < text.size() && is_digit(text[at]); ++at, digit /= 10)
      fraction += digit * (text[at] - '0');
  }
  int offset_minutes = 0;
  std::string_view zone = text.substr(at);
  if (zone == "Z" || zone.empty()) {
  } else if ((zone.size() == 6 && zone[3] == ':') || zone.size() == 5) {
    int hours = 0, minutes = 0;
    if (zone[0] != '+' && zone[0] != '-') return std::nullopt;
    std::from_chars(zone.data() + 1, zone.data() + 3, hours);
    std::from_chars(zone.data() + zone.size() - 2, zone.data() + zone.size(), minutes);
    offset_minutes = (zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
  } else {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(fields[0]),
                                         std::chrono::month(static_cast<unsigned>(fields[1])),
                                         std::chrono::day(static_cast<unsigned>(fields[2]))};
  if (!date.ok() || fields[3] > 23 || fields[4] > 59 || fields[5] > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const double seconds = static_cast<double>(days) * 86400 + fields[3] * 3600.0 +
                         (fields[4] - offset_minutes) * 60.0 + fields[5];
  return std::round((seconds + fraction) * 1000);
}

// How far a number reaches from the start of the text; 0: there is none.
size_t number_length(std::string_view text) {
  size_t at = 0;
  const auto rest = [&] { return text.substr(at); };
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) ++at;
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    if (rest().size() >= word.size() && same_word(rest().substr(0, word.size()), word) &&
        (rest().size() == word.size() || !is_letter(rest()[word.size()]))) {
      return at + word.size();
    }
  }
  const size_t first = at;
  bool digits = false;
  while (at < text.size() && is_digit(text[at])) {
    digits = true;
    ++at;
    // 1,234: a comma before exactly three digits.
    if (at + 3 < text.size() + 0 && text[at] == ',' && at - first <= 12 && is_digit(text[at + 1]) &&
        is_digit(text[at + 2]) && is_digit(text[at + 3]) &&
        (at + 4 == text.size() || !is_digit(text[at + 4]))) {
      ++at;
    }
  }
  if (at < text.size() && text[at] == '.' && (digits || (at + 1 < text.size() && is_digit(text[at + 1])))) {
    size_t fraction = at + 1;
    while (fraction < text.size() && is_digit(text[fraction])) ++fraction;
    if (fraction > at + 1) {  // else the point ends a sentence
      digits = true;
      at = fraction;
    }
  }
  if (!digits) return 0;
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t exponent = at + 1;
    if (text[exponent] == '+' || text[exponent] == '-') ++exponent;
    size_t end = exponent;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end > exponent) at = end;
  }
  return at;
}

// A time, then a number: the longest reading of what stands here.
size_t value_length(std::string_view text) {
  if (text.size() >= 10 && text[4] == '-' && text[7] == '-') {
    for (size_t length = std::min<size_t>(text.size(), 32); length >= 10; --length) {
      if (!is_space(text[length - 1]) && parse_time(text.substr(0, length))) return length;
    }
  }
  return number_length(text);
}

}  // namespace

std::optional<double> parse_log_number(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  if (same_word(text, "true")) return 1.0;
  if (same_word(text, "false")) return 0.0;
  if (number_length(text) == text.size()) {
    std::string plain(text);
    std::erase(plain, ',');
    if (plain.front() == '+') plain.erase(0, 1);
    double value = 0;
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (end != plain.data() + plain.size()) return std::nullopt;
    if (error == std::errc()) return value;
    if (error == std::errc::result_out_of_range) {
      return plain.find("e-") != std::string::npos || plain.find("E-") != std::string::npos
                 ? 0
                 : std::copysign(std::numeric_limits<double>::infinity(), plain.front() == '-' ? -1.0 : 1.0);
    }
    return std::nullopt;
  }
  return parse_time(text);
}

LinePattern::LinePattern(std::string_view pattern) {
  const auto refuse = [&](std::string what) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("The pattern \"{}\" {}.", pattern, what),
                "Write a line of the log with {names} in place of its numbers: step {step} loss {loss}");
  };
  Part part;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{' || pattern.substr(at).starts_with("{{")) {
      part.literal += pattern[at];
      at += pattern[at] == '{';
      continue;
    }
    const size_t close = pattern.find('}', at);
    if (close == std::string_view::npos) refuse("has a brace that isn't closed");
    const std::string name(trimmed(pattern.substr(at + 1, close - at - 1)));
    at = close;
    if (!parts_.empty() && part.literal.empty()) refuse("has two placeholders with nothing between them");
    if (name.empty()) {
      part.anything = true;
    } else {
      if (std::ranges::find(names_, name) != names_.end()) refuse("names {" + name + "} twice");
      part.capture = names_.size();
      names_.push_back(name);
    }
    parts_.push_back(std::move(part));
    part = {};
  }
  if (names_.empty()) refuse("has no {name} in it");
  if (!part.literal.empty()) parts_.push_back(std::move(part));
}

namespace {

// How far the literal reaches at `at` of the line, spaces matching loosely; npos when it isn't there.
size_t literal_end(std::string_view line, size_t at, std::string_view literal) {
  for (size_t i = 0; i < literal.size();) {
    if (is_space(literal[i])) {
      while (i < literal.size() && is_space(literal[i])) ++i;
      if (i == literal.size()) return at;  // spaces before a placeholder may be missing
      while (at < line.size() && is_space(line[at])) ++at;
      continue;
    }
    if (at >= line.size() || line[at] != literal[i]) {
      // More spaces in the line than in the pattern.
      if (at < line.size() && is_space(line[at]) && i > 0) {
        while (at < line.size() && is_space(line[at])) ++at;
        continue;
      }
      return std::string_view::npos;
    }
    ++at;
    ++i;
  }
  return at;
}

}  // namespace

bool LinePattern::match_from(std::string_view line, size_t at, std::vector<std::string_view>& found) const {
  bool skipping = false;  // behind a {}: the next literal may stand anywhere
  for (const Part& part : parts_) {
    size_t end = literal_end(line, at, part.literal);
    while (skipping && end == std::string_view::npos && ++at < line.size()) {
      end = literal_end(line, at, part.literal);
    }
    if (end == std::string_view::npos) return false;
    at = end;
    skipping = part.anything;
    if (!part.capture) continue;
    while (at < line.size() && is_space(line[at])) ++at;
    const size_t length = value_length(line.substr(at));
    if (length == 0) return false;
    found[*part.capture] = line.substr(at, length);
    at += length;
  }
  return true;
}

std::optional<std::vector<std::string_view>> LinePattern::match(std::string_view line) const {
  line = line.substr(0, longest_line);
  std::vector<std::string_view> found(names_.size());
  const std::string_view first = trimmed(parts_.front().literal);
  for (size_t at = 0; at < line.size(); ++at) {
    if (!first.empty()) {
      at = line.find(first.front(), at);
      if (at == std::string_view::npos) break;
    } else if (at > 0 && !is_space(line[at - 1])) {
      continue;  // a bare number starts where a word does
    }
    if (match_from(line, at, found)) return found;
  }
  return std::nullopt;
}

namespace {

struct Number {
  size_t at, length;
  size_t end() const { return at + length; }
};

std::vector<Number> numbers_of(std::string_view line) {
  std::vector<Number> numbers;
  for (size_t at = 0; at < line.size();) {
    const bool inside_word =
        at > 0 && (is_letter(line[at - 1]) || is_digit(line[at - 1]) || line[at - 1] == '_');
    const size_t length = inside_word ? 0 : value_length(line.substr(at));
    if (length > 0) numbers.push_back({at, length});
    at += std::max<size_t>(1, length);
  }
  return numbers;
}

bool in_name(char c) {
  return is_letter(c) || c == '_' || c == '/';
}

// The word that ends the text, whatever stands behind it: "loss" of "| train loss: ". Two words where the
// first says which of two losses it is: "val_loss".
std::string last_name(std::string_view text) {
  const auto cut_word = [&] {
    while (!text.empty() && !is_letter(text.back()) && text.back() != '_') text.remove_suffix(1);
    const size_t end = text.size();
    while (!text.empty() && in_name(text.back())) text.remove_suffix(1);
    std::string_view word(text.data() + text.size(), end - text.size());
    while (!word.empty() && word.front() == '/') word.remove_prefix(1);
    return std::string(word);
  };
  const std::string name = cut_word();
  if (text.empty() || !is_space(text.back())) return name;
  const std::string before = cut_word();
  for (const std::string_view kind : {"train", "val", "valid", "validation", "eval", "test"}) {
    if (same_word(before, kind)) return before + '_' + name;
  }
  return name;
}

// How far the letters reach that stand behind a number without a space: its unit.
size_t unit_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && is_letter(text[at])) ++at;
  return at;
}

// How far the name behind a number reaches ("17,067 tok/s |"); 0 when that word belongs to the number after
// it.
size_t name_behind(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size() && is_space(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && in_name(text[end])) ++end;
  if (end == begin) return 0;
  size_t next = end;
  while (next < text.size() && (is_space(text[next]) || text[next] == ':' || text[next] == '=')) ++next;
  return next < text.size() && number_length(text.substr(next)) > 0 ? 0 : end;
}

// What a number is called, and how much of the text behind it that has used up.
std::string name_of(std::string_view before, std::string_view value, std::string_view behind, size_t& used) {
  used = unit_length(behind);
  const std::string unit(behind.substr(0, used));
  if (!before.empty() && before.back() == '/') {  // "step 10/500"
    const std::string name = last_name(before);
    return name.empty() ? "total" : name + "_total";
  }
  std::string name = last_name(before);
  if (name.empty() && number_length(value) < value.size()) return "time";  // 2026-01-31 12:34:56
  if (name.empty()) {
    const std::string_view after = behind.substr(used);
    const size_t length = name_behind(after);
    name = trimmed(after.substr(0, length));
    used += length;
  }
  if (unit.empty()) return name;
  // In a line a time with a unit is a step's, not the clock's.
  if (same_word(name, "time")) name = "step_time";
  return name.empty() ? unit : name + '_' + unit;
}

}  // namespace

std::string suggest_pattern(const std::vector<std::string>& lines) {
  const std::string* best = nullptr;
  size_t best_score = 0;
  for (const std::string& line : lines) {
    const size_t count = numbers_of(line).size();
    const size_t score = count == 0 ? 0 : count + (line.find("loss") != std::string::npos ? 1000 : 0);
    if (score > best_score) {
      best = &line;
      best_score = score;
    }
  }
  if (best == nullptr) return {};

  const std::string_view line = *best;
  std::set<std::string> names;
  std::string pattern;
  size_t copied = 0;    // of the line into the pattern
  size_t consumed = 0;  // by names
  int unnamed = 0;
  const auto copy = [&](size_t end) {
    for (; copied < end; ++copied) pattern += line[copied] == '{' ? "{{" : std::string(1, line[copied]);
  };
  for (const Number& number : numbers_of(line)) {
    const size_t from = std::min(consumed, number.at);
    size_t used = 0;
    std::string name = name_of(line.substr(from, number.at - from), line.substr(number.at, number.length),
                               line.substr(number.end()), used);
    if (name.empty() || names.contains(name)) name = fmt::format("number_{}", ++unnamed);
    names.insert(name);
    copy(number.at);
    pattern += '{' + name + '}';
    copied = number.end();
    consumed = number.end() + used;
  }
  copy(line.size());
  return std::string(trimmed(pattern));
}

}  // namespace lathe
