// Logs of other trainers: read as a table of numbers, mapped column by column to Lathe's metrics, and stored
// as a finished run marked imported. It then is a run like any other: charts, comparison, baseline.
//
// Formats: CSV (comma, semicolon or tab; a header line or none), JSON lines (an object a line, as most
// loggers write), Hugging Face's trainer_state.json, and plain lines of text by a pattern (line_pattern.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/metrics.h"

namespace lathe {

class HistoryStore;

enum class ForeignFormat { Csv, JsonLines, TrainerState, Lines };

std::string_view foreign_format_name(ForeignFormat format);  // "csv", "jsonl", "trainer_state", "lines"

struct ForeignColumn {
  std::string name{};
  std::string example{};              // the first value as it stands in the file
  std::vector<MetricValue> values{};  // one a row; nothing: the row has none, or it is no number
};

// What a log holds. Times written as text ("2026-01-31 12:34:56") have become ms since 1970 (UTC).
struct ForeignTable {
  ForeignFormat format = ForeignFormat::Csv;
  std::vector<ForeignColumn> columns{};
  int64_t rows = 0;
  int64_t skipped = 0;          // lines that are not a row, empty ones not counted
  std::string first_skipped{};  // the first of them, with its line number
};

// By extension and first bytes.
ForeignFormat guess_foreign_format(const std::filesystem::path& file);

// The first lines of a file (at most `count`, each cut at 400 bytes): what a person looks at to write a
// pattern.
std::vector<std::string> first_lines(const std::filesystem::path& file, size_t count);

// Reads the file, which may be up to 2 GiB. `pattern` is for Lines only. Errors: NotFound, Io;
// InvalidArgument for a bad pattern; CorruptFile naming the line when the file isn't of that format, or when
// not one row is in it.
ForeignTable read_foreign_log(const std::filesystem::path& file, ForeignFormat format,
                              std::string_view pattern = {});

// What a column may stand for: where a row is (step, tokens, time, active) or a metric of updates or
// evaluations.
struct ForeignTarget {
  std::string key{};
  std::string label{};
  std::string unit{};  // the unit values must have once multiplied by the factor
};
const std::vector<ForeignTarget>& foreign_targets();

struct ForeignMapping {
  struct Column {
    size_t column = 0;  // in ForeignTable::columns
    std::string target{};
    double factor = 1;  // values are multiplied by it: 1000 for seconds, 1073741824 for GiB
  };
  std::vector<Column> columns{};
  std::optional<int64_t>
      tokens_per_step{};  // gives tokens where the log has none, and tokens/s from step time
};

// The mapping people would choose, from names and magnitudes. May be incomplete.
ForeignMapping suggest_mapping(const ForeignTable& table);

struct ForeignRun {
  std::string name{};
  std::string source{};  // file name, for the record
  std::string notes{};
  std::vector<std::string> tags{};  // "imported" is added
};

// Stores the table as a finished run and returns its id. Rows without a step column are counted from 1; rows
// of one step are merged; a step that goes back starts a new session that hides what it repeats, as a resume
// does (more than 50 of those: the rows are sorted by step instead). Without a time the rows carry the moment
// of the import. Errors: InvalidArgument when no metric is mapped, two columns mean the same or a column
// doesn't exist; Cancelled when `progress(done, rows)` returns false. Then no run is left behind.
std::string import_foreign_log(HistoryStore& store, const ForeignTable& table, const ForeignMapping& mapping,
                               const ForeignRun& run,
                               const std::function<bool(int64_t, int64_t)>& progress = {});

}  // namespace lathe
