// Reading foreign logs: four formats, one table.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>

#include "core/history/foreign_log.h"
#include "core/history/line_pattern.h"
#include "core/platform/files.h"
#include "core/platform/json.h"
#include "kernels/api/error.h"
#include "kernels/api/utf8.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

// Collects values row by row; columns come into being with their first value.
class TableBuilder {
 public:
  explicit TableBuilder(ForeignFormat format) { table_.format = format; }

  size_t column(const std::string& name) {
    const auto [found, inserted] = index_.try_emplace(valid_utf8(name), table_.columns.size());
    if (inserted) table_.columns.push_back({found->first, {}, {}});
    return found->second;
  }
  void set(size_t column, std::string_view text) { set(column, parse_log_number(text), text); }
  void set(size_t index, MetricValue value, std::string_view text) {
    ForeignColumn& column = table_.columns[index];
    if (column.example.empty()) column.example = valid_utf8(text.substr(0, 80));
    column.values.resize(static_cast<size_t>(table_.rows) + 1);
    column.values.back() = value;
  }
  void end_row() { ++table_.rows; }
  void skip(int64_t line, std::string_view text) {
    if (table_.skipped++ == 0)
      table_.first_skipped = valid_utf8(fmt::format("line {}: {}", line, text.substr(0, 120)));
  }

  ForeignTable finish(const std::filesystem::path& file) {
    constexpr int64_t most_cells = int64_t{1} << 27;  // 2 GiB of values
    const auto columns = static_cast<int64_t>(table_.columns.size());
    if (columns > 0 && table_.rows > most_cells / columns) {
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("{} has {} rows of {} columns, more than can be held.", to_utf8(file),
                              table_.rows, columns),
                  "Keep the columns you want to see (step, loss, …) and leave out the rest.");
    }
    if (table_.rows == 0) {
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("Not one row of numbers is in {} when read as {}{}.", to_utf8(file),
                              foreign_format_name(table_.format),
                              table_.skipped > 0 ? "; first refused, " + table_.first_skipped : ""),
                  table_.format == ForeignFormat::Lines ? "Change the pattern until it fits a line."
                                                        : "Choose another format.");
    }
    for (ForeignColumn& column : table_.columns) column.values.resize(static_cast<size_t>(table_.rows));
    return std::move(table_);
  }

 private:
  ForeignTable table_;
  std::unordered_map<std::string, size_t> index_;
};

// Calls visit(number, line) for each line, without its end.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(++number, line);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

// One record of a CSV file from `at` on; quoted fields may hold line breaks. Moves `at` behind it.
std::vector<std::string> csv_record(std::string_view text, size_t& at, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        fields.back() += '"';
        ++at;
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else if (c == separator) {
      fields.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

ForeignTable read_csv(const std::filesystem::path& file, std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  char separator = ',';
  for (const char candidate : {';', '\t'}) {
    if (std::ranges::count(header, candidate) > std::ranges::count(header, separator)) separator = candidate;
  }
  TableBuilder table(ForeignFormat::Csv);
  size_t at = 0;
  std::vector<std::string> names = csv_record(text, at, separator);
  // Only numbers in the first line: it is a row already.
  if (std::ranges::all_of(names,
                          [](const std::string& name) { return parse_log_number(name).has_value(); })) {
    at = 0;
    for (size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("column {}", i + 1);
  }
  std::vector<size_t> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    columns.push_back(table.column(names[i].empty() ? fmt::format("column {}", i + 1) : names[i]));
  }
  for (int64_t record = 2; at < text.size(); ++record) {
    const size_t begin = at;
    const std::vector<std::string> fields = csv_record(text, at, separator);
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields.size() > columns.size() || std::ranges::none_of(fields, [](const std::string& field) {
          return parse_log_number(field).has_value();
        })) {
      table.skip(record, text.substr(begin, at - begin));
      continue;
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].empty()) table.set(columns[i], fields[i]);
    }
    table.end_row();
  }
  return table.finish(file);
}

// Python writes NaN, Infinity and -Infinity bare, which isn't JSON: puts them in quotes.
std::string quote_non_finite(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      out += c;
      if (c == '\\' && at + 1 < text.size()) {
        out += text[++at];
      } else if (c == '"') {
        quoted = false;
      }
      continue;
    }
    if (c == 'N' || c == 'I' || c == '-') {
      bool replaced = false;
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (text.substr(at, word.size()) != word) continue;
        out += '"';
        out += word;
        out += '"';
        at += word.size() - 1;
        replaced = true;
        break;
      }
      if (replaced) continue;
    }
    quoted = c == '"';
    out += c;
  }
  return out;
}

// A line that isn't JSON, or nests without end, is null.
Json parsed_or_null(std::string_view text) {
  try {
    return parse_json<Json>(quote_non_finite(text));
  } catch (const Json::exception&) {
    return {};
  }
}

// Numbers of an object and of objects within it ("train.loss"). Returns whether there was one.
bool add_object(TableBuilder& table, const Json& object, const std::string& prefix) {
  bool any = false;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      any = add_object(table, value, prefix + key + '.') || any;
    } else if (value.is_number() || value.is_boolean()) {
      const double number = value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>();
      table.set(table.column(prefix + key), number, value.dump());
      any = true;
    } else if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      const auto number = parse_log_number(text);
      if (!number) continue;
      table.set(table.column(prefix + key), number, text);
      any = true;
    }
  }
  return any;
}

ForeignTable read_json_lines(const std::filesystem::path& file, std::string_view text) {
  TableBuilder table(ForeignFormat::JsonLines);
  for_each_line(text, [&](int64_t number, std::string_view line) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    const Json object = parsed_or_null(line);
    if (object.is_object() && add_object(table, object, {})) {
      table.end_row();
    } else {
      table.skip(number, line);
    }
  });
  return table.finish(file);
}

ForeignTable read_trainer_state(const std::filesystem::path& file, std::string_view text) {
  Json document;
  try {
    document = parse_json<Json>(quote_non_finite(text));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::CorruptFile, fmt::format("{} is no JSON: {}.", to_utf8(file), error.what()),
                "Choose another format.");
  }
  const Json history = document.is_object() ? document.value("log_history", Json()) : document;
  if (!history.is_array()) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} has no list \"log_history\", so it is no trainer_state.json.", to_utf8(file)),
                "Choose another format, or the file trainer_state.json of a checkpoint.");
  }
  TableBuilder table(ForeignFormat::TrainerState);
  int64_t number = 0;
  for (const Json& entry : history) {
    ++number;
    if (entry.is_object() && add_object(table, entry, {})) {
      table.end_row();
    } else {
      table.skip(number, entry.dump());
    }
  }
  return table.finish(file);
}

ForeignTable read_lines(const std::filesystem::path& file, std::string_view text, std::string_view pattern) {
  const LinePattern lines(pattern);
  TableBuilder table(ForeignFormat::Lines);
  std::vector<size_t> columns;
  for (const std::string& name : lines.names()) columns.push_back(table.column(name));
  for_each_line(text, [&](int64_t number, std::string_view line) {
    const auto found = lines.match(line);
    if (!found) {
      if (line.find_first_not_of(" \t") != std::string_view::npos) table.skip(number, line);
      return;
    }
    for (size_t i = 0; i < found->size(); ++i) table.set(columns[i], (*found)[i]);
    table.end_row();
  });
  return table.finish(file);
}

}  // namespace

std::string_view foreign_format_name(ForeignFormat format) {
  switch (format) {
    case ForeignFormat::Csv:
      return "csv";
    case ForeignFormat::JsonLines:
      return "jsonl";
    case ForeignFormat::TrainerState:
      return "trainer_state";
    case ForeignFormat::Lines:
      return "lines";
  }
  return "";
}

std::vector<std::string> first_lines(const std::filesystem::path& file, size_t count) {
  constexpr size_t longest = 400;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw Error(ErrorCode::NotFound, fmt::format("{} can't be opened.", to_utf8(file)),
                "Check the name and your permissions.");
  }
  std::string bytes(count * longest, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  std::vector<std::string> lines;
  for_each_line(bytes, [&](int64_t, std::string_view line) {
    if (lines.size() < count) lines.emplace_back(line.substr(0, longest));
  });
  return lines;
}

ForeignFormat guess_foreign_format(const std::filesystem::path& file) {
  const std::vector<std::string> lines = first_lines(file, 20);
  const std::string extension = to_utf8(file.extension());
  const auto first = std::ranges::find_if(lines, [](const std::string& line) { return !line.empty(); });
  if (first == lines.end()) return ForeignFormat::Csv;
  const char start =
      first->find_first_not_of(" \t") == std::string::npos ? ' ' : (*first)[first->find_first_not_of(" \t")];
  if (extension == ".json" && (start == '{' || start == '[')) {
    const Json whole_line = parsed_or_null(*first);
    return whole_line.is_object() && !whole_line.contains("log_history") && lines.size() > 1
               ? ForeignFormat::JsonLines
               : ForeignFormat::TrainerState;
  }
  if (start == '{') return ForeignFormat::JsonLines;
  if (extension == ".csv" || extension == ".tsv") return ForeignFormat::Csv;
  // A header without numbers over a line of as many fields.
  for (const char separator : {',', ';', '\t'}) {
    const auto fields = std::ranges::count(*first, separator);
    if (fields > 0 && lines.size() > 1 && std::ranges::count(lines[1], separator) == fields &&
        std::ranges::none_of(*first, [](char c) { return c == ':' || c == '='; })) {
      return ForeignFormat::Csv;
    }
  }
  return ForeignFormat::Lines;
}

ForeignTable read_foreign_log(const std::filesystem::path& file, ForeignFormat format,
                              std::string_view pattern) {
  std::string text = read_file(file, int64_t{2} << 30);
  std::string_view content = text;
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
  switch (format) {
    case ForeignFormat::Csv:
      return read_csv(file, content);
    case ForeignFormat::JsonLines:
      return read_json_lines(file, content);
    case ForeignFormat::TrainerState:
      return read_trainer_state(file, content);
    case ForeignFormat::Lines:
      return read_lines(file, content, pattern);
  }
  throw Error(ErrorCode::InvalidArgument, "An unknown format of logs.");
}

}  // namespace lathe
