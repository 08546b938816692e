// A table for the terminal: columns aligned, numbers to the right, UTF-8 counted in characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::cli {

class TextTable {
 public:
  // A heading that begins with '>' aligns its column to the right.
  explicit TextTable(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);  // as many as there are headings
  std::string text() const;                  // lines, each with its line end, no trailing spaces

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lathe::cli
