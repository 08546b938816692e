// The statements over history.db. Free functions over an open catalogue: the store and the writers share
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/run_progress.h"
#include "core/history/run_types.h"
#include "core/history/sqlite.h"

namespace lathe::catalogue {

// Opens <home>/history.db, creating both where missing.
std::unique_ptr<Database> open(const std::filesystem::path& home);

// Statements over one run throw NotFound when it isn't there. Those that change something are one transaction
// each.

void insert_run(const Database& catalogue, const std::string& id, const RunInfo& info);
void set_info(const Database& catalogue, std::string_view id, const RunInfo& info);
void delete_run(const Database& catalogue, std::string_view id);

// The part of a list a query leaves to the caller: all summaries, newest first.
std::vector<RunSummary> list(const Database& catalogue, bool archived);
// The query of list(), for the test that shows it reads no table of numbers.
std::string list_sql(bool archived);
// Ids of the runs that are being trained, as far as their status tells.
std::vector<std::string> active_runs(const Database& catalogue);
RunSummary summary(const Database& catalogue, std::string_view id);
RunDetails details(const Database& catalogue, std::string_view id);  // without the folder
std::string find(const Database& catalogue, std::string_view text);

void rename(const Database& catalogue, std::string_view id, std::string_view name);
// Of the runs that have some, by id.
std::map<std::string, std::string> notes(const Database& catalogue);
void set_notes(const Database& catalogue, std::string_view id, std::string_view notes);
void set_archived(const Database& catalogue, std::string_view id, bool archived);
void add_tag(const Database& catalogue, std::string_view id, std::string_view tag);
void remove_tag(const Database& catalogue, std::string_view id, std::string_view tag);

void set_status(const Database& catalogue, std::string_view id, RunStatus status, std::string_view reason);
void set_progress(const Database& catalogue, std::string_view id, const RunProgress& progress);

void put_checkpoint(const Database& catalogue, std::string_view id, const CheckpointRow& checkpoint);
void remove_checkpoint(const Database& catalogue, std::string_view id, int64_t step);
std::vector<CheckpointRow> checkpoints(const Database& catalogue, std::string_view id);

int64_t post_command(const Database& catalogue, std::string_view id, CommandKind kind,
                     std::string_view argument);
Command command(const Database& catalogue, int64_t command_id);
// Not answered, newer than `after_id`, oldest first.
std::vector<Command> open_commands(const Database& catalogue, std::string_view id, int64_t after_id);
void answer_command(const Database& catalogue, int64_t command_id, std::string_view answer, bool done);
// Answers whatever is still open as not done, so that nobody waits for a process that has gone.
void answer_all_commands(const Database& catalogue, std::string_view id, std::string_view answer);

}  // namespace lathe::catalogue
