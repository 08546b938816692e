#include "core/history/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "core/history/run_reader.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

// A field is one of these; null is a value that wasn't measured.
using Fields = std::vector<Json>;
using RowVisitor = std::function<void(const Fields&)>;

std::optional<MetricTable> metric_table(std::string_view name) {
  for (const MetricTable table :
       {MetricTable::Updates, MetricTable::Evaluations, MetricTable::Groups, MetricTable::Telemetry}) {
    if (table_name(table) == name) return table;
  }
  return std::nullopt;
}

std::vector<std::string> columns_of(std::string_view name) {
  if (const auto table = metric_table(name)) {
    std::vector<std::string> columns = {"seq",    "session", "superseded", "step",
                                        "tokens", "time_ms", "active_ms"};
    if (!part_column(*table).empty()) columns.emplace_back(part_column(*table));
    for (const MetricInfo& info : metrics(*table)) columns.emplace_back(info.key);
    return columns;
  }
  if (name == "events") return {"id", "session", "step", "time_ms", "level", "text"};
  if (name == "samples") return {"id", "session", "superseded", "step", "time_ms", "prompt", "text"};
  if (name == "sessions") return {"id", "started_ms", "first_step", "visible_before", "process", "host"};
  throw Error(ErrorCode::InvalidArgument, fmt::format("A run has no table '{}'.", name),
              fmt::format("Choose one of {}.", fmt::join(export_tables(), ", ")));
}

void visit_rows(const RunReader& reader, std::string_view name, const RowVisitor& visit) {
  if (const auto table = metric_table(name)) {
    Fields fields;
    RowScan scan;
    scan.table = *table;
    scan.superseded = true;
    reader.scan(scan, [&](const StoredRow& row) {
      fields.assign({row.seq, row.session, row.superseded, row.position.step, row.position.tokens,
                     row.position.time_ms, row.position.active_ms});
      if (!part_column(*table).empty()) fields.emplace_back(row.part);
      for (const MetricValue& value : row.values) fields.push_back(value ? Json(*value) : Json());
      visit(fields);
    });
  } else if (name == "events") {
    for (const EventRow& event : reader.events()) {
      visit({event.id, event.session, event.step, event.time_ms, level_name(event.level), event.text});
    }
  } else if (name == "samples") {
    std::vector<int64_t> visible;
    for (const SampleRow& sample : reader.samples()) visible.push_back(sample.id);
    for (const SampleRow& sample : reader.samples(0, true)) {
      visit({sample.id, sample.session, !std::ranges::binary_search(visible, sample.id), sample.step,
             sample.time_ms, sample.prompt, sample.text});
    }
  } else {
    for (const SessionRow& session : reader.sessions()) {
      const bool superseded = session.visible_before != std::numeric_limits<int64_t>::max();
      visit({session.id, session.started_ms, session.first_step,
             superseded ? Json(session.visible_before) : Json(), session.process, session.host});
    }
  }
}

// Shortest text that reads back as the same double. Byte counts and the like look like the integers they are.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string csv_field(const Json& field) {
  if (field.is_null()) return {};
  if (field.is_boolean()) return field.get<bool>() ? "1" : "0";
  if (field.is_number_float()) return number_text(field.get<double>());
  if (field.is_number()) return fmt::format("{}", field.get<int64_t>());
  const auto text = field.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted(1, '"');
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  quoted.push_back('"');
  return quoted;
}

Json json_field(const Json& field) {
  if (!field.is_number_float() || std::isfinite(field.get<double>())) return field;
  const double value = field.get<double>();
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

void check(const std::ostream& out) {
  if (out) return;
  throw Error(ErrorCode::Io, "The export could not be written to its end.",
              "Check the space on the target's disk.");
}

}  // namespace

const std::vector<std::string>& export_tables() {
  static const std::vector<std::string> tables = {"updates", "evaluations", "groups",  "telemetry",
                                                  "events",  "samples",     "sessions"};
  return tables;
}

int64_t export_csv(const RunReader& reader, std::string_view table, std::ostream& out) {
  out << fmt::format("{}\n", fmt::join(columns_of(table), ","));
  int64_t rows = 0;
  std::string line;
  visit_rows(reader, table, [&](const Fields& fields) {
    line.clear();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) line.push_back(',');
      line.append(csv_field(fields[i]));
    }
    out << line << '\n';
    ++rows;
    check(out);
  });
  out.flush();
  check(out);
  return rows;
}

int64_t export_json(const RunReader& reader, const RunDetails& run, const std::vector<std::string>& tables,
                    std::ostream& out) {
  for (const std::string& table : tables)
    columns_of(table);  // refuses unknown ones before anything is written
  Json catalogue = Json::array();
  for (const MetricInfo& info : metrics()) {
    catalogue.push_back({{"key", info.key},
                         {"table", table_name(info.table)},
                         {"unit", info.unit},
                         {"label", info.label},
                         {"definition", info.definition}});
  }
  Json settings = Json::object();
  for (const auto& [key, value] : run.settings) settings[key] = value;
  const Json head = {{"id", run.id},
                     {"name", run.name},
                     {"status", status_name(run.status)},
                     {"status_reason", run.status_reason},
                     {"created_ms", run.created_ms},
                     {"device", run.device},
                     {"memory_source", run.memory_source},
                     {"notes", run.notes},
                     {"tags", run.tags},
                     {"settings", settings}};
  out << "{\n\"run\": " << head.dump() << ",\n\"metrics\": " << catalogue.dump();
  int64_t rows = 0;
  for (const std::string& table : tables) {
    const std::vector<std::string> columns = columns_of(table);
    out << fmt::format(",\n\"{}\": [", table);
    bool first = true;
    visit_rows(reader, table, [&](const Fields& fields) {
      Json row = Json::object();
      for (size_t i = 0; i < fields.size(); ++i) row[columns[i]] = json_field(fields[i]);
      out << (first ? "\n" : ",\n") << row.dump();
      first = false;
      ++rows;
      check(out);
    });
    out << "]";
  }
  out << "\n}\n";
  out.flush();
  check(out);
  return rows;
}

}  // namespace lathe
