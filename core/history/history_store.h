// The history of all runs: a home folder with the catalogue history.db and one folder per run.
//
//   <home>/history.db          small catalogue: runs, settings, tags, checkpoints, commands
//   <home>/runs/<id>/run.db    the numbers of one run
//   <home>/runs/<id>/run.lock  held by the process that trains; the system drops it when that process dies
//   <home>/runs/<id>/…         whatever else belongs to the run, checkpoints for one
//
// Any number of processes may open the same home folder; none waits for another longer than a moment. One
// store belongs to one thread; opening another is cheap.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/run_reader.h"
#include "core/history/run_types.h"
#include "core/history/run_writer.h"

namespace lathe {

class Database;

struct ListFilter {
  bool archived = false;  // archived runs too
  std::string tag{};      // only runs with this tag
  std::string text{};     // only runs whose id, name or tags contain it, upper and lower case alike
  std::vector<RunStatus> statuses{};  // only these; empty: all
};

enum class DeleteFiles { Everything, KeepCheckpoints };

class HistoryStore {
 public:
  // Opens the home folder, creating it and the catalogue where missing, and marks runs whose process died as
  // interrupted. Errors: Unsupported when the file system has no locks or shared memory, is a network share,
  // or lies across the Windows/WSL border; Unsupported when a newer Lathe wrote the catalogue; CorruptFile
  // when it is none.
  explicit HistoryStore(std::filesystem::path home);
  ~HistoryStore();
  HistoryStore(HistoryStore&&) noexcept;
  HistoryStore& operator=(HistoryStore&&) noexcept;

  const std::filesystem::path& home() const;
  std::filesystem::path run_folder(std::string_view id) const;

  // Makes a run and its folder and holds it for writing, status Preparing.
  std::unique_ptr<RunWriter> create_run(const RunInfo& info);
  // Continues a run. Errors: Busy when a process is training it.
  std::unique_ptr<RunWriter> open_writer(std::string_view id);
  // Opens the numbers of a run, running or not.
  std::unique_ptr<RunReader> open_reader(std::string_view id) const;

  // Newest first. Touches no table of numbers: 1,000 runs in a few milliseconds.
  std::vector<RunSummary> list(const ListFilter& filter = {}) const;
  RunSummary summary(std::string_view id) const;
  RunDetails details(std::string_view id) const;
  // The id of the run meant by an exact id, a name, a unique beginning of an id, or "last" (the newest).
  // Errors: NotFound; InvalidArgument listing the candidates when several match.
  std::string find(std::string_view text) const;
  std::vector<CheckpointRow> checkpoints(std::string_view id) const;  // by step
  // Whether a process trains this run now, by its lock: true even if that process hangs.
  bool is_running(std::string_view id) const;

  void rename(std::string_view id, std::string_view name);
  // The notes of all runs that have some, by id: for a list that shows them.
  std::map<std::string, std::string> notes() const;
  void set_notes(std::string_view id, std::string_view notes);
  void add_tag(std::string_view id, std::string_view tag);
  void remove_tag(std::string_view id, std::string_view tag);
  void set_archived(std::string_view id, bool archived);
  // Removes the run from the catalogue and unlinks its folder. Errors: Busy while a process trains it.
  // KeepCheckpoints leaves runs/<id>/checkpoints where it is.
  void delete_run(std::string_view id, DeleteFiles files = DeleteFiles::Everything);

  // Asks the process that trains the run for something; it looks between micro-steps. Returns the command's
  // id. Errors: InvalidArgument when nobody trains it.
  int64_t post_command(std::string_view id, CommandKind kind, std::string_view argument = {});
  Command command(int64_t command_id) const;

  // Finds runs that are active by name but whose lock is free, reads where they stood, and marks them
  // Interrupted with the step they can resume at. The constructor does it; a window repeats it now and then.
  // Returns the ids repaired.
  std::vector<std::string> repair_interrupted();

  // Changes when another connection committed to the catalogue; compare with the value before. Costs
  // microseconds.
  int64_t data_version() const;

 private:
  bool repair(const std::string& id);
  void list_what_is_there(const std::string& id);

  std::filesystem::path home_;
  std::unique_ptr<Database> catalogue_;
};

}  // namespace lathe
