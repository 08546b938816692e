// Writes every stored row of a run as CSV or JSON, for spreadsheets, pandas and people who want to leave.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/run_reader.h"

namespace lathe {

// "updates", "evaluations", "groups", "telemetry", "events", "samples", "sessions".
const std::vector<std::string>& export_tables();

// One table, a header line, a line a row, RFC 4180 quoting, numbers as short as they read back exactly. Not
// measured: an empty field; NaN and infinity: nan, inf, -inf. Superseded rows are included and say so in the
// column `superseded`. Returns the number of rows. Errors: InvalidArgument for an unknown table; Io when the
// stream fails.
int64_t export_csv(const RunReader& reader, std::string_view table, std::ostream& out);

// One JSON object {"run", "metrics" (key, unit, label, definition), "updates": [rows…], …} with the given
// tables, streamed row by row. JSON has no NaN: "NaN", "Infinity" and "-Infinity" are texts, not measured is
// null.
int64_t export_json(const RunReader& reader, const RunDetails& run, const std::vector<std::string>& tables,
                    std::ostream& out);

}  // namespace lathe
