#include "app/cli/text_table.h"

#include <algorithm>

namespace lathe::cli {
namespace {

size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    right_.push_back(heading.starts_with('>'));
    if (right_.back()) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

void TextTable::add(std::vector<std::string> cells) {
  // A line break in a name or note would tear the table.
  for (std::string& cell : cells)
    std::ranges::replace_if(
        cell, [](char c) { return c >= 0 && c < ' '; }, ' ');
  cells.resize(right_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<size_t> widths(right_.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(2, ' ');
      const size_t padding = widths[i] - width(row[i]);
      if (right_[i]) line.append(padding, ' ');
      line.append(row[i]);
      if (!right_[i]) line.append(padding, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).push_back('\n');
  }
  return text;
}

}  // namespace lathe::cli
