#include "core/history/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/history/schema.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe::catalogue {
namespace {

// The columns of a summary, in the order read_summary() takes them.
constexpr std::string_view summary_columns =
    "id, name, status, status_reason, created_ms, started_ms, finished_ms, step, tokens, active_ms, "
    "best_loss, last_loss, "
    "last_eval_loss, tokens_per_s, predicted_tokens_per_s, planned_peak_bytes, measured_peak_bytes, "
    "parent_run, "
    "parent_step, archived, device, sparkline, "
    "(SELECT max(step) FROM checkpoint WHERE checkpoint.run = run.id AND complete = 1)";
constexpr int summary_column_count = 23;

[[noreturn]] void throw_not_found(std::string_view id) {
  throw Error(ErrorCode::NotFound, fmt::format("There is no run '{}'.", id),
              "`lathe runs list` shows what there is.");
}

RunSummary read_summary(const Statement& row) {
  RunSummary run;
  run.id = row.text(0);
  run.name = row.text(1);
  run.status = parse_status(row.text(2));
  run.status_reason = row.text(3);
  run.created_ms = row.integer(4);
  run.started_ms = row.optional_integer(5);
  run.finished_ms = row.optional_integer(6);
  run.step = row.integer(7);
  run.tokens = row.integer(8);
  run.active_ms = row.integer(9);
  run.best_loss = row.value(10);
  run.last_loss = row.value(11);
  run.last_eval_loss = row.value(12);
  run.tokens_per_s = row.value(13);
  run.predicted_tokens_per_s = row.value(14);
  run.planned_peak_bytes = row.optional_integer(15);
  run.measured_peak_bytes = row.optional_integer(16);
  if (!row.is_null(17)) run.parent = RunParent{row.text(17), row.integer(18)};
  run.archived = row.integer(19) != 0;
  run.device = row.text(20);
  const std::span<const std::byte> blob = row.blob(21);
  run.sparkline.resize(blob.size() / sizeof(float));
  if (!run.sparkline.empty())
    std::memcpy(run.sparkline.data(), blob.data(), run.sparkline.size() * sizeof(float));
  run.last_checkpoint_step = row.optional_integer(22);
  return run;
}

std::vector<std::string> tags_of(const Database& catalogue, std::string_view id) {
  std::vector<std::string> tags;
  Statement statement = catalogue.prepare("SELECT tag FROM tag WHERE run = ? ORDER BY tag");
  statement.bind(1, id);
  while (statement.step()) tags.push_back(statement.text(0));
  return tags;
}

// Runs a statement that changes the row of one run; its last parameter is the id.
void change(const Database& catalogue, Statement& statement, std::string_view id) {
  statement.run();
  if (catalogue.changes() == 0) throw_not_found(id);
}

void write_info(const Database& catalogue, std::string_view id, const RunInfo& info) {
  Statement update = catalogue.prepare(
      "UPDATE run SET device = ?, versions_json = ?, memory_source = ?, predicted_tokens_per_s = ?, "
      "planned_peak_bytes = ?, settings_json = ? WHERE id = ?");
  update.bind(1, info.device).bind(2, info.versions_json).bind(3, info.memory_source);
  update.bind_value(4, info.predicted_tokens_per_s).bind(5, info.planned_peak_bytes);
  update.bind(6, info.settings_json).bind(7, id);
  change(catalogue, update, id);
  catalogue.prepare("DELETE FROM setting WHERE run = ?").bind(1, id).run();
  Statement insert =
      catalogue.prepare("INSERT OR REPLACE INTO setting (run, position, key, value) VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const auto& [key, value] : info.settings)
    insert.bind(1, id).bind(2, position++).bind(3, key).bind(4, value).run();
}

Command read_command(const Statement& row) {
  return {row.integer(0),      row.text(1),    parse_command(row.text(2)),
          row.text(3),         row.integer(4), row.optional_integer(5),
          row.integer(6) != 0, row.text(7)};
}

constexpr std::string_view command_columns = "id, run, kind, argument, posted_ms, answered_ms, done, answer";

}  // namespace

std::unique_ptr<Database> open(const std::filesystem::path& home) {
  return open_database(home / "history.db", Database::Mode::Create, catalogue_schema());
}

void insert_run(const Database& catalogue, const std::string& id, const RunInfo& info) {
  Transaction transaction(catalogue);
  Statement insert = catalogue.prepare(
      "INSERT INTO run (id, name, status, created_ms, parent_run, parent_step, notes) VALUES (?, ?, ?, ?, ?, "
      "?, ?)");
  insert.bind(1, id).bind(2, info.name.empty() ? id : info.name);
  insert.bind(3, status_name(RunStatus::Preparing)).bind(4, wall_clock_ms());
  if (info.parent) insert.bind(5, info.parent->run).bind(6, info.parent->step);
  insert.bind(7, info.notes).run();
  for (const std::string& tag : info.tags) {
    catalogue.prepare("INSERT OR IGNORE INTO tag (run, tag) VALUES (?, ?)").bind(1, id).bind(2, tag).run();
  }
  write_info(catalogue, id, info);
  transaction.commit();
}

void set_info(const Database& catalogue, std::string_view id, const RunInfo& info) {
  Transaction transaction(catalogue);
  write_info(catalogue, id, info);
  transaction.commit();
}

void delete_run(const Database& catalogue, std::string_view id) {
  Statement statement = catalogue.prepare("DELETE FROM run WHERE id = ?");
  statement.bind(1, id);
  change(catalogue, statement, id);
}

std::string list_sql(bool archived) {
  return fmt::format("SELECT {} FROM run {}ORDER BY created_ms DESC, id DESC", summary_columns,
                     archived ? "" : "WHERE archived = 0 ");
}

std::vector<RunSummary> list(const Database& catalogue, bool archived) {
  std::map<std::string, std::vector<std::string>> tags;
  Statement tag = catalogue.prepare("SELECT run, tag FROM tag ORDER BY run, tag");
  while (tag.step()) tags[tag.text(0)].push_back(tag.text(1));
  std::vector<RunSummary> runs;
  Statement statement = catalogue.prepare(list_sql(archived));
  while (statement.step()) {
    runs.push_back(read_summary(statement));
    if (const auto found = tags.find(runs.back().id); found != tags.end()) runs.back().tags = found->second;
  }
  return runs;
}

std::vector<std::string> active_runs(const Database& catalogue) {
  std::vector<std::string> ids;
  Statement statement =
      catalogue.prepare("SELECT id FROM run WHERE status IN ('preparing', 'running', 'paused', 'stopping')");
  while (statement.step()) ids.push_back(statement.text(0));
  return ids;
}

RunSummary summary(const Database& catalogue, std::string_view id) {
  Statement statement = catalogue.prepare(fmt::format("SELECT {} FROM run WHERE id = ?", summary_columns));
  statement.bind(1, id);
  if (!statement.step()) throw_not_found(id);
  RunSummary run = read_summary(statement);
  run.tags = tags_of(catalogue, id);
  return run;
}

RunDetails details(const Database& catalogue, std::string_view id) {
  Statement statement = catalogue.prepare(
      fmt::format("SELECT {}, notes, settings_json, versions_json, memory_source FROM run WHERE id = ?",
                  summary_columns));
  statement.bind(1, id);
  if (!statement.step()) throw_not_found(id);
  RunDetails run;
  static_cast<RunSummary&>(run) = read_summary(statement);
  run.tags = tags_of(catalogue, id);
  run.notes = statement.text(summary_column_count);
  run.settings_json = statement.text(summary_column_count + 1);
  run.versions_json = statement.text(summary_column_count + 2);
  run.memory_source = statement.text(summary_column_count + 3);
  Statement setting = catalogue.prepare("SELECT key, value FROM setting WHERE run = ? ORDER BY position");
  setting.bind(1, id);
  while (setting.step()) run.settings.emplace_back(setting.text(0), setting.text(1));
  return run;
}

std::string find(const Database& catalogue, std::string_view text) {
  const auto ids = [&](std::string_view condition) {
    std::vector<std::pair<std::string, std::string>> found;
    Statement statement = catalogue.prepare(fmt::format("SELECT id, name FROM run WHERE {}", condition));
    if (condition.find('?') != std::string_view::npos) statement.bind(1, text);
    while (statement.step()) found.emplace_back(statement.text(0), statement.text(1));
    return found;
  };
  auto found = ids("id = ?");
  if (found.empty() && text == "last") found = ids("true ORDER BY created_ms DESC, id DESC LIMIT 1");
  if (found.empty()) found = ids("name = ?");
  if (found.empty() && !text.empty()) found = ids("substr(id, 1, length(?1)) = ?1");
  if (found.size() == 1) return found.front().first;
  if (found.empty()) throw_not_found(text);
  std::string candidates;
  for (const auto& [id, name] : found)
    candidates += fmt::format("{}{} ({})", candidates.empty() ? "" : ", ", id, name);
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("'{}' may be {} runs: {}.", text, found.size(), candidates),
              "Give the id, or more of it.");
}

void rename(const Database& catalogue, std::string_view id, std::string_view name) {
  Statement statement = catalogue.prepare("UPDATE run SET name = ? WHERE id = ?");
  statement.bind(1, name.empty() ? id : name).bind(2, id);
  change(catalogue, statement, id);
}

std::map<std::string, std::string> notes(const Database& catalogue) {
  std::map<std::string, std::string> notes;
  Statement statement = catalogue.prepare("SELECT id, notes FROM run WHERE notes <> ''");
  while (statement.step()) notes.emplace(statement.text(0), statement.text(1));
  return notes;
}

void set_notes(const Database& catalogue, std::string_view id, std::string_view notes) {
  Statement statement = catalogue.prepare("UPDATE run SET notes = ? WHERE id = ?");
  statement.bind(1, notes).bind(2, id);
  change(catalogue, statement, id);
}

void set_archived(const Database& catalogue, std::string_view id, bool archived) {
  Statement statement = catalogue.prepare("UPDATE run SET archived = ? WHERE id = ?");
  statement.bind(1, int64_t{archived}).bind(2, id);
  change(catalogue, statement, id);
}

void add_tag(const Database& catalogue, std::string_view id, std::string_view tag) {
  if (tag.empty()) throw Error(ErrorCode::InvalidArgument, "A tag needs at least one character.");
  summary(catalogue, id);
  catalogue.prepare("INSERT OR IGNORE INTO tag (run, tag) VALUES (?, ?)").bind(1, id).bind(2, tag).run();
}

void remove_tag(const Database& catalogue, std::string_view id, std::string_view tag) {
  summary(catalogue, id);
  catalogue.prepare("DELETE FROM tag WHERE run = ? AND tag = ?").bind(1, id).bind(2, tag).run();
}

void set_status(const Database& catalogue, std::string_view id, RunStatus status, std::string_view reason) {
  Statement statement = catalogue.prepare(
      "UPDATE run SET status = ?1, status_reason = ?2, "
      "started_ms = CASE WHEN ?1 = 'running' THEN coalesce(started_ms, ?3) ELSE started_ms END, "
      "finished_ms = CASE WHEN ?4 THEN NULL ELSE ?3 END WHERE id = ?5");
  statement.bind(1, status_name(status)).bind(2, reason).bind(3, wall_clock_ms());
  statement.bind(4, int64_t{is_active(status)}).bind(5, id);
  change(catalogue, statement, id);
}

void set_progress(const Database& catalogue, std::string_view id, const RunProgress& progress) {
  Statement statement = catalogue.prepare(
      "UPDATE run SET step = ?, tokens = ?, active_ms = ?, best_loss = ?, last_loss = ?, last_eval_loss = ?, "
      "tokens_per_s = ?, measured_peak_bytes = ?, sparkline = ? WHERE id = ?");
  statement.bind(1, progress.step).bind(2, progress.tokens).bind(3, progress.active_ms);
  statement.bind_value(4, progress.best_loss)
      .bind_value(5, progress.last_loss)
      .bind_value(6, progress.last_eval_loss);
  statement.bind_value(7, progress.tokens_per_s()).bind(8, progress.measured_peak_bytes);
  const std::vector<float> points = progress.sparkline.points();
  statement.bind_blob(9, std::as_bytes(std::span(points))).bind(10, id);
  change(catalogue, statement, id);
}

void put_checkpoint(const Database& catalogue, std::string_view id, const CheckpointRow& checkpoint) {
  catalogue
      .prepare(
          "INSERT OR REPLACE INTO checkpoint (run, step, path, bytes, complete, created_ms) VALUES (?, ?, ?, "
          "?, ?, ?)")
      .bind(1, id)
      .bind(2, checkpoint.step)
      .bind(3, checkpoint.path)
      .bind(4, checkpoint.bytes)
      .bind(5, int64_t{checkpoint.complete})
      .bind(6, checkpoint.created_ms)
      .run();
}

void remove_checkpoint(const Database& catalogue, std::string_view id, int64_t step) {
  catalogue.prepare("DELETE FROM checkpoint WHERE run = ? AND step = ?").bind(1, id).bind(2, step).run();
}

std::vector<CheckpointRow> checkpoints(const Database& catalogue, std::string_view id) {
  std::vector<CheckpointRow> rows;
  Statement statement = catalogue.prepare(
      "SELECT step, path, bytes, complete, created_ms FROM checkpoint WHERE run = ? ORDER BY step");
  statement.bind(1, id);
  while (statement.step()) {
    rows.push_back({statement.integer(0), statement.text(1), statement.integer(2), statement.integer(3) != 0,
                    statement.integer(4)});
  }
  return rows;
}

int64_t post_command(const Database& catalogue, std::string_view id, CommandKind kind,
                     std::string_view argument) {
  summary(catalogue, id);
  catalogue.prepare("INSERT INTO command (run, kind, argument, posted_ms) VALUES (?, ?, ?, ?)")
      .bind(1, id)
      .bind(2, command_name(kind))
      .bind(3, argument)
      .bind(4, wall_clock_ms())
      .run();
  return catalogue.last_row_id();
}

Command command(const Database& catalogue, int64_t command_id) {
  Statement statement =
      catalogue.prepare(fmt::format("SELECT {} FROM command WHERE id = ?", command_columns));
  statement.bind(1, command_id);
  if (!statement.step()) throw Error(ErrorCode::NotFound, fmt::format("There is no request {}.", command_id));
  return read_command(statement);
}

std::vector<Command> open_commands(const Database& catalogue, std::string_view id, int64_t after_id) {
  std::vector<Command> commands;
  Statement statement = catalogue.prepare(
      fmt::format("SELECT {} FROM command WHERE run = ? AND answered_ms IS NULL AND id > ? ORDER BY id",
                  command_columns));
  statement.bind(1, id).bind(2, after_id);
  while (statement.step()) commands.push_back(read_command(statement));
  return commands;
}

void answer_command(const Database& catalogue, int64_t command_id, std::string_view answer, bool done) {
  catalogue.prepare("UPDATE command SET answered_ms = ?, answer = ?, done = ? WHERE id = ?")
      .bind(1, wall_clock_ms())
      .bind(2, answer)
      .bind(3, int64_t{done})
      .bind(4, command_id)
      .run();
}

void answer_all_commands(const Database& catalogue, std::string_view id, std::string_view answer) {
  catalogue.prepare("UPDATE command SET answered_ms = ?, answer = ? WHERE run = ? AND answered_ms IS NULL")
      .bind(1, wall_clock_ms())
      .bind(2, answer)
      .bind(3, id)
      .run();
}

}  // namespace lathe::catalogue
