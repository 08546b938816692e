// Finds numbers in lines of text by an example of the line: "step {step} | loss {loss} | {tokens_per_s}
// tok/s".
//
// {name} is a number (also nan, inf, 1,234 and 1.5e-4) or a time written as text; {} is anything up to what
// follows; {{ is a brace. The rest must stand in the line as it is, except that a run of spaces matches any
// other, and may begin and end anywhere in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// A number or time as logs write it, or nothing. Reads the whole text, surrounding spaces aside.
std::optional<double> parse_log_number(std::string_view text);

class LinePattern {
 public:
  // Throws Error InvalidArgument for an unclosed brace, a name given twice, no name at all, or two
  // placeholders with nothing between them.
  explicit LinePattern(std::string_view pattern);

  const std::vector<std::string>& names() const { return names_; }
  // The texts of the numbers, as names(); nothing when the line doesn't match. Looks at the beginning of a
  // line only, since trying every place of it takes time as its length squared.
  static constexpr size_t longest_line = 4096;
  std::optional<std::vector<std::string_view>> match(std::string_view line) const;

 private:
  struct Part {
    std::string literal;            // stands before the placeholder
    std::optional<size_t> capture;  // index into names_
    bool anything = false;          // {}
  };
  bool match_from(std::string_view line, size_t at, std::vector<std::string_view>& found) const;

  std::vector<Part> parts_;
  std::vector<std::string> names_;
};

// A pattern for the most telling of these lines: the one with the word "loss" and the most numbers, each
// number replaced by a name made of the word next to it. Empty when no line has a number.
std::string suggest_pattern(const std::vector<std::string>& lines);

}  // namespace lathe
