#include "core/history/history_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "core/history/catalogue.h"
#include "core/history/checkpoint_folders.h"
#include "core/history/run_file.h"
#include "core/history/run_progress.h"
#include "core/platform/file_lock.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

void require_fit(const std::filesystem::path& home) {
  const FileSystemTraits traits = file_system_traits(home);
  if (traits.can_hold_history()) return;
  const char* advice = "Choose a folder on a local disk with --home or LATHE_HOME.";
  std::string why;
  if (traits.is_windows_mounted) {
    why = "lies across the border between Windows and WSL, where a database can't share memory";
    advice =
        "Keep the history on the side that trains: inside WSL a folder like ~/.local/share/lathe, on Windows "
        "one on a "
        "Windows drive. Choose it with --home or LATHE_HOME.";
  } else if (traits.is_network) {
    why = "is a network share, where file locks and shared memory can't be trusted";
  } else if (!traits.supports_locks) {
    why = "has no file locks";
  } else {
    why = "has no shared memory maps";
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("The history can't live in {}: the file system there ({}) {}.", to_utf8(home),
                          traits.kind, why),
              advice);
}

// 8 characters of milliseconds since 2025 (good for 34 years), 2 at random for runs of the same millisecond;
// base 32 without the letters people misread (i, l, o, u).
std::string new_id() {
  constexpr std::string_view digits = "0123456789abcdefghjkmnpqrstvwxyz";
  constexpr int64_t year_2025_ms = 1'735'689'600'000;
  auto time = static_cast<uint64_t>(std::max<int64_t>(0, wall_clock_ms() - year_2025_ms));
  std::string id(10, '0');
  for (size_t i = 8; i-- > 0; time /= 32) id[i] = digits[time % 32];
  std::random_device random;
  for (size_t i = 8; i < id.size(); ++i) id[i] = digits[random() % 32];
  return id;
}

// Whoever looks for interrupted runs holds their lock for a moment: don't take that for a trainer.
std::optional<FileLock> acquire_patiently(const std::filesystem::path& path) {
  for (int attempt = 0;; ++attempt) {
    if (auto lock = FileLock::try_acquire(path)) return lock;
    if (attempt == 40) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  };
  return !std::ranges::search(text, part, same).empty() || part.empty();
}

std::string lock_name() {
  return "run.lock";
}

}  // namespace

HistoryStore::HistoryStore(std::filesystem::path home) : home_(std::move(home)) {
  std::error_code failed;
  std::filesystem::create_directories(home_ / "runs", failed);
  if (failed) {
    throw Error(ErrorCode::Io,
                fmt::format("The home folder {} can't be made: {}.", to_utf8(home_), failed.message()),
                "Choose another with --home or LATHE_HOME.");
  }
  require_fit(home_);
  catalogue_ = catalogue::open(home_);
  try {
    repair_interrupted();
  } catch (const Error& error) {
    // A full disk doesn't keep people from looking: the run is repaired by whoever opens the history next.
    if (error.code() != ErrorCode::DiskFull) throw;
  }
}

HistoryStore::~HistoryStore() = default;
HistoryStore::HistoryStore(HistoryStore&&) noexcept = default;
HistoryStore& HistoryStore::operator=(HistoryStore&&) noexcept = default;

const std::filesystem::path& HistoryStore::home() const {
  return home_;
}

std::filesystem::path HistoryStore::run_folder(std::string_view id) const {
  return home_ / "runs" / from_utf8(id);
}

std::unique_ptr<RunWriter> HistoryStore::create_run(const RunInfo& info) {
  std::string id = new_id();
  while (!std::filesystem::create_directory(run_folder(id))) id = new_id();
  try {
    // The lock comes before the row in the catalogue: a run that is listed as active is never unlocked while
    // it lives.
    std::optional<FileLock> lock = acquire_patiently(run_folder(id) / lock_name());
    if (!lock)
      throw Error(ErrorCode::Busy, fmt::format("The new run's folder {} is taken.", to_utf8(run_folder(id))));
    RunFile(run_folder(id) / "run.db", id);
    catalogue::insert_run(*catalogue_, id, info);
    try {
      return std::make_unique<RunWriter>(home_, id, std::move(*lock));
    } catch (...) {
      catalogue::delete_run(*catalogue_, id);
      throw;
    }
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(run_folder(id), ignored);
    throw;
  }
}

std::unique_ptr<RunWriter> HistoryStore::open_writer(std::string_view id) {
  const RunSummary run = catalogue::summary(*catalogue_, id);
  if (!std::filesystem::exists(run_folder(id) / "run.db")) {
    throw Error(ErrorCode::NotFound,
                fmt::format("The numbers of run {} are gone: {} is missing.", run.name,
                            to_utf8(run_folder(id) / "run.db")),
                "Restore the folder from a backup, or fork a new run from a checkpoint.");
  }
  std::optional<FileLock> lock = acquire_patiently(run_folder(id) / lock_name());
  if (!lock) {
    throw Error(ErrorCode::Busy, fmt::format("Run {} is being trained by another process.", run.name),
                "Stop it there first (`lathe runs stop`).");
  }
  return std::make_unique<RunWriter>(home_, std::string(id), std::move(*lock));
}

std::unique_ptr<RunReader> HistoryStore::open_reader(std::string_view id) const {
  catalogue::summary(*catalogue_, id);
  return std::make_unique<RunReader>(run_folder(id));
}

std::vector<RunSummary> HistoryStore::list(const ListFilter& filter) const {
  std::vector<RunSummary> runs = catalogue::list(*catalogue_, filter.archived);
  std::erase_if(runs, [&](const RunSummary& run) {
    if (!filter.tag.empty() && !std::ranges::binary_search(run.tags, filter.tag)) return true;
    if (!filter.statuses.empty() && std::ranges::find(filter.statuses, run.status) == filter.statuses.end())
      return true;
    if (contains(run.id, filter.text) || contains(run.name, filter.text)) return false;
    return std::ranges::none_of(run.tags, [&](const std::string& tag) { return contains(tag, filter.text); });
  });
  return runs;
}

RunSummary HistoryStore::summary(std::string_view id) const {
  return catalogue::summary(*catalogue_, id);
}

RunDetails HistoryStore::details(std::string_view id) const {
  RunDetails run = catalogue::details(*catalogue_, id);
  run.folder = run_folder(id);
  return run;
}

std::string HistoryStore::find(std::string_view text) const {
  return catalogue::find(*catalogue_, text);
}

std::vector<CheckpointRow> HistoryStore::checkpoints(std::string_view id) const {
  catalogue::summary(*catalogue_, id);
  return catalogue::checkpoints(*catalogue_, id);
}

bool HistoryStore::is_running(std::string_view id) const {
  return FileLock::is_held(run_folder(id) / lock_name());
}

void HistoryStore::rename(std::string_view id, std::string_view name) {
  catalogue::rename(*catalogue_, id, name);
}
std::map<std::string, std::string> HistoryStore::notes() const {
  return catalogue::notes(*catalogue_);
}
void HistoryStore::set_notes(std::string_view id, std::string_view notes) {
  catalogue::set_notes(*catalogue_, id, notes);
}
void HistoryStore::add_tag(std::string_view id, std::string_view tag) {
  catalogue::add_tag(*catalogue_, id, tag);
}
void HistoryStore::remove_tag(std::string_view id, std::string_view tag) {
  catalogue::remove_tag(*catalogue_, id, tag);
}
void HistoryStore::set_archived(std::string_view id, bool archived) {
  catalogue::set_archived(*catalogue_, id, archived);
}

void HistoryStore::delete_run(std::string_view id, DeleteFiles files) {
  const RunSummary run = catalogue::summary(*catalogue_, id);
  const std::filesystem::path folder = run_folder(id);
  if (std::filesystem::is_directory(folder)) {
    std::optional<FileLock> lock = acquire_patiently(folder / lock_name());
    if (!lock) {
      throw Error(ErrorCode::Busy, fmt::format("Run {} is being trained, so it can't be deleted.", run.name),
                  "Stop it first (`lathe runs stop`).");
    }
    // Files before the row: when one resists, the run is still listed and the deletion can be repeated. The
    // lock file goes last, after its lock, since Windows deletes no open file.
    std::vector<std::filesystem::path> doomed;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::filesystem::path name = entry.path().filename();
      if (name == lock_name() || (files == DeleteFiles::KeepCheckpoints && name == "checkpoints")) continue;
      doomed.push_back(entry.path());
    }
    std::error_code error;
    for (const std::filesystem::path& path : doomed) {
      std::filesystem::remove_all(path, error);
      if (!error) continue;
      throw Error(ErrorCode::Io, fmt::format("{} can't be deleted: {}.", to_utf8(path), error.message()),
                  "Close programs that have it open, then delete the run again.");
    }
    lock.reset();
    std::filesystem::remove(folder / lock_name(), error);
    std::filesystem::remove(folder, error);  // stays when checkpoints are kept
  }
  catalogue::delete_run(*catalogue_, id);
}

int64_t HistoryStore::post_command(std::string_view id, CommandKind kind, std::string_view argument) {
  const RunSummary run = catalogue::summary(*catalogue_, id);
  if (!is_running(id)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("Run {} isn't being trained ({}), so nobody would answer.", run.name,
                            status_name(run.status)),
                "`lathe resume` continues it.");
  }
  return catalogue::post_command(*catalogue_, id, kind, argument);
}

Command HistoryStore::command(int64_t command_id) const {
  return catalogue::command(*catalogue_, command_id);
}

std::vector<std::string> HistoryStore::repair_interrupted() {
  std::vector<std::string> repaired;
  for (const std::string& id : catalogue::active_runs(*catalogue_)) {
    try {
      if (repair(id)) repaired.push_back(id);
    } catch (const Error& error) {
      // Somebody else deleted it meanwhile.
      if (error.code() != ErrorCode::NotFound) throw;
    }
  }
  return repaired;
}

// The process may have died between completing a checkpoint and saying so here.
void HistoryStore::list_what_is_there(const std::string& id) {
  std::vector<int64_t> listed;
  for (const CheckpointRow& row : catalogue::checkpoints(*catalogue_, id)) {
    if (row.complete) listed.push_back(row.step);
  }
  for (const int64_t step : list_checkpoints(run_folder(id))) {
    if (std::ranges::binary_search(listed, step)) continue;
    try {
      catalogue::put_checkpoint(*catalogue_, id, describe_checkpoint(run_folder(id), step));
    } catch (const Error& error) {
      // An unreadable folder must not keep the runs from being listed.
      if (error.code() != ErrorCode::Io) throw;
    }
  }
}

bool HistoryStore::repair(const std::string& id) {
  const std::filesystem::path folder = run_folder(id);
  if (is_running(id)) return false;
  std::optional<FileLock> lock;
  if (std::filesystem::is_directory(folder)) {
    lock = FileLock::try_acquire(folder / lock_name());
    if (!lock) return false;
    // It may have ended, or been repaired by somebody else, before we had the lock.
    if (!is_active(catalogue::summary(*catalogue_, id).status)) return false;
    // First of all, as the disk may have been full when it died.
    std::error_code ignored;
    std::filesystem::remove(folder / "reserve", ignored);
    try {
      catalogue::set_progress(*catalogue_, id, read_progress(RunReader(folder)));
    } catch (const Error& error) {
      // A broken run file must not keep the other runs from being listed; opening this one says what is
      // wrong.
      if (error.code() != ErrorCode::CorruptFile && error.code() != ErrorCode::NotFound) throw;
    }
    list_what_is_there(id);
  }
  const RunSummary run = catalogue::summary(*catalogue_, id);
  const std::string reason =
      run.last_checkpoint_step
          ? fmt::format("The process ended unexpectedly after step {}; resumable at step {}.", run.step,
                        *run.last_checkpoint_step)
          : fmt::format("The process ended unexpectedly after step {}, before the first checkpoint.",
                        run.step);
  catalogue::answer_all_commands(*catalogue_, id, "Not done: the process that trained this run had ended.");
  catalogue::set_status(*catalogue_, id, RunStatus::Interrupted, reason);
  return true;
}

int64_t HistoryStore::data_version() const {
  return catalogue_->data_version();
}

}  // namespace lathe
