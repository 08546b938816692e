// The one writer of a run: takes rows from the training thread, commits them from a thread of its own.
//
// The add_… and set_… calls only append to a queue: they do no input or output and never wait for the disk,
// except that a caller who is 65,536 rows ahead waits for the next commit. Rows are committed at most 250 ms
// later; the catalogue's summary of the run follows within a second. Killing the process loses at most the
// rows not yet committed.
//
// When the disk refuses (full, or gone), rows stay queued, the reserve file is given up to make room for an
// event that says why, and the writer tries again once a second; failure() tells the trainer, who pauses.
// Nothing is thrown on the trainer's thread except by flush(), begin_session() and finish().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/metrics.h"
#include "core/history/run_types.h"
#include "core/platform/file_lock.h"
#include "kernels/api/error.h"

namespace lathe {

class RunWriter {
 public:
  // For HistoryStore::create_run and open_writer: the run stands in the catalogue, `lock` is that of its
  // folder.
  RunWriter(const std::filesystem::path& home, std::string id, FileLock lock);
  // Commits what is queued and lets the lock go. Without finish() before, the run counts as interrupted.
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  const std::string& id() const;
  const std::filesystem::path& folder() const;  // runs/<id>

  // Starts a sitting whose first update will be `first_step` (1 for a new run, step + 1 after resuming at a
  // checkpoint, or after rolling back to one). Rows of older sessions from that step on are hidden, not
  // deleted, and the generation grows by one so that charts rebuild. Waits for the disk. Must come before the
  // first row. Returns the session's number.
  int64_t begin_session(int64_t first_step);

  void add_update(const UpdateRow& row);
  void add_evaluation(const EvaluationRow& row);
  void add_group_stats(const GroupRow& row);
  void add_telemetry(const TelemetryRow& row);
  void add_event(EventLevel level, std::string_view text,
                 int64_t step = -1);  // step -1: that of the last update
  void add_sample(int64_t step, std::string_view prompt, std::string_view text);
  // Overwrites the live row; its state becomes the run's status.
  void set_live(const LiveState& live);
  // What is only known after preparing: device text, versions, planned peak, predicted tokens/s and resolved
  // settings. Name, tags, notes and parent stay as they are.
  void set_info(const RunInfo& info);
  // A checkpoint with the same step is replaced.
  void add_checkpoint(const CheckpointRow& checkpoint);
  void remove_checkpoint(int64_t step);

  // Requests of other processes not handed out before, oldest first. Reads memory only: cheap enough for
  // every micro-step. The thread looks into the catalogue every 100 ms.
  std::vector<Command> poll_commands();
  // Says what was done about a command; the one who posted it is waiting for this.
  // `done` false: refused or impossible, `answer` says why.
  void answer_command(int64_t command_id, std::string_view answer, bool done = true);

  // Commits everything queued and waits. Throws what the disk said.
  void flush();
  // Why the last commit failed; nothing while all is well.
  std::optional<Error> failure() const;
  // Deletes the 8 MiB reserve file so that a full disk has room again. True when it was there.
  bool release_reserve();

  // Ends the run: commits everything, writes status and reason, closes the files and lets the lock go. Rows
  // that come later are dropped. A run that is to be continued later ends with Stopped.
  void finish(RunStatus status, std::string_view reason);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
