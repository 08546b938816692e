#include "core/history/run_reader.h"

#include <algorithm>

#include "core/history/schema.h"
#include "core/history/sqlite.h"
#include "kernels/api/error.h"

namespace lathe {

RunReader::RunReader(const std::filesystem::path& run_folder)
    : folder_(run_folder),
      database_(open_database(run_folder / "run.db", Database::Mode::Read, run_schema())) {}

RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;

int64_t RunReader::data_version() const {
  return database_->data_version();
}

int64_t RunReader::generation() const {
  Statement statement = database_->prepare("SELECT generation FROM file");
  return statement.step() ? statement.integer(0) : 0;
}

std::vector<RunReader::VisibleRange> RunReader::visible_ranges(MetricTable table) const {
  std::vector<VisibleRange> ranges;
  Statement statement = database_->prepare(
      "SELECT first_seq, last_seq FROM visible WHERE table_name = ? AND last_seq >= first_seq ORDER BY "
      "first_seq");
  statement.bind(1, table_name(table));
  while (statement.step()) ranges.push_back({statement.integer(0), statement.integer(1)});
  return ranges;
}

int64_t RunReader::last_seq(MetricTable table) const {
  return database_->integer("SELECT coalesce(max(seq), 0) FROM " + level_table(table, 1));
}

int64_t RunReader::row_count(MetricTable table, bool superseded) const {
  // seq has no gaps: it is given inside the transaction that inserts the row.
  const int64_t last = std::max<int64_t>(0, last_seq(table));
  if (superseded) return last;
  int64_t count = 0;
  for (const VisibleRange& range : visible_ranges(table)) {
    const int64_t before = std::clamp<int64_t>(range.first_seq, 1, last + 1) - 1;  // rows before the range
    count += std::clamp<int64_t>(range.last_seq, before, last) - before;
  }
  return count;
}

Resolution RunReader::resolution_for(MetricTable table, int64_t max_points) const {
  const int64_t rows = row_count(table);
  if (rows <= max_points || !has_levels(table)) return Resolution::Raw;
  return rows / 64 <= max_points ? Resolution::Rows64 : Resolution::Rows4096;
}

std::vector<std::string> RunReader::parts(MetricTable table) const {
  std::vector<std::string> parts;
  const std::string column(part_column(table));
  if (column.empty()) return parts;
  Statement statement =
      database_->prepare("SELECT DISTINCT " + column + " FROM " + level_table(table, 1) + " ORDER BY 1");
  while (statement.step()) parts.push_back(statement.text(0));
  return parts;
}

std::vector<SessionRow> RunReader::sessions() const {
  std::vector<SessionRow> sessions;
  Statement statement = database_->prepare(
      "SELECT id, started_ms, first_step, visible_before, process, host FROM session ORDER BY id");
  while (statement.step()) {
    sessions.push_back({statement.integer(0), statement.integer(1), statement.integer(2),
                        statement.integer(3), statement.integer(4), statement.text(5)});
  }
  return sessions;
}

std::vector<EventRow> RunReader::events(int64_t after_id) const {
  std::vector<EventRow> events;
  Statement statement = database_->prepare(
      "SELECT id, session, step, time_ms, level, text FROM event WHERE id > ? ORDER BY id");
  statement.bind(1, after_id);
  while (statement.step()) {
    events.push_back({statement.integer(0), statement.integer(1), statement.integer(2), statement.integer(3),
                      parse_level(statement.text(4)), statement.text(5)});
  }
  return events;
}

std::vector<SampleRow> RunReader::samples(int64_t after_id, bool superseded) const {
  std::vector<SampleRow> samples;
  Statement statement = database_->prepare(
      "SELECT sample.id, session, step, time_ms, prompt, text FROM sample LEFT JOIN session ON session.id = "
      "session "
      "WHERE sample.id > ? AND (? OR step < coalesce(visible_before, step + 1)) ORDER BY sample.id");
  statement.bind(1, after_id).bind(2, int64_t{superseded});
  while (statement.step()) {
    samples.push_back({statement.integer(0), statement.integer(1), statement.integer(2), statement.integer(3),
                       statement.text(4), statement.text(5)});
  }
  return samples;
}

std::optional<LiveState> RunReader::live() const {
  Statement statement = database_->prepare(
      "SELECT state, phase, step, micro_step, micro_steps, eta_ms, heartbeat_ms FROM live");
  if (!statement.step()) return std::nullopt;
  LiveState live;
  live.state = parse_status(statement.text(0));
  live.phase = statement.text(1);
  live.step = statement.integer(2);
  live.micro_step = statement.integer(3);
  live.micro_steps = statement.integer(4);
  live.eta_ms = statement.optional_integer(5);
  live.heartbeat_ms = statement.integer(6);
  return live;
}

}  // namespace lathe
