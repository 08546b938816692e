#include "core/history/run_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "core/history/catalogue.h"
#include "core/history/reserve_file.h"
#include "core/history/run_batch.h"
#include "core/history/run_file.h"
#include "core/history/run_progress.h"
#include "core/history/run_reader.h"
#include "core/platform/files.h"
#include "core/platform/process.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto tick = 50ms;
constexpr auto commit_period = 200ms;  // with the tick: at most 250 ms from a row to its commit
constexpr auto command_period = 100ms;
constexpr auto progress_period = 1s;
constexpr auto retry_period = 1s;
constexpr size_t queue_limit = 65'536;

}  // namespace

// Two locks, always taken in this order: io_ by whoever talks to the databases (the thread, or a caller of
// flush), queue_ for the moment it takes to put something in or take everything out. Callers of add_… take
// queue_ only.
class RunWriter::Impl {
 public:
  Impl(const std::filesystem::path& home, std::string id, FileLock lock)
      : id_(std::move(id)),
        folder_(home / "runs" / from_utf8(id_)),
        lock_(std::move(lock)),
        reserve_(folder_ / "reserve"),
        file_(std::in_place, folder_ / "run.db", id_),
        catalogue_(catalogue::open(home)) {
    // What was asked of a process that has gone must not act on this one.
    catalogue::answer_all_commands(*catalogue_, id_,
                                   "Not done: the process that trained this run had ended.");
    catalogue::set_status(*catalogue_, id_, RunStatus::Preparing, "");
    status_ = RunStatus::Preparing;
    try {
      reserve_.take();
    } catch (const Error& error) {
      pending_.events.push_back(
          {.time_ms = wall_clock_ms(),
           .level = EventLevel::Warning,
           .text = fmt::format("No reserve for a full disk: {}", error.what_happened())});
    }
    thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
  }

  ~Impl() {
    stop_thread();
    if (finished_) return;
    try {
      commit(true);
    } catch (const std::exception&) {
      // What the disk refused until now is lost with this process; failure() has said so.
    }
    reserve_.release();
  }

  const std::string& id() const { return id_; }
  const std::filesystem::path& folder() const { return folder_; }

  int64_t begin_session(int64_t first_step) {
    const std::lock_guard io(io_);
    if (finished_)
      throw Error(ErrorCode::Internal, "A session came after finish.",
                  "This is a bug in Lathe; please report it.");
    commit(true);
    const int64_t session = file_->begin_session(first_step);
    if (session > 1) {
      progress_ = read_progress(RunReader(folder_));
      progress_changed_ = true;
      commit(true);
    }
    const std::lock_guard queue(queue_);
    has_session_ = true;
    last_step_ = first_step - 1;
    return session;
  }

  template <class Row>
  void add(std::vector<Row> RunBatch::*rows, Row row) {
    if (row.time_ms == 0) row.time_ms = wall_clock_ms();
    std::unique_lock queue(queue_);
    if (!has_session_) {
      throw Error(ErrorCode::Internal, "A row came before begin_session.",
                  "This is a bug in Lathe; please report it.");
    }
    if constexpr (std::is_same_v<Row, UpdateRow>) last_step_ = row.step;
    if (pending_.rows() >= queue_limit && !failure_) {
      wake_.notify_one();
      room_.wait(queue, [this] { return pending_.rows() < queue_limit || failure_; });
    }
    (pending_.*rows).push_back(std::move(row));
  }

  void add_event(EventRow event) {
    event.time_ms = wall_clock_ms();
    const std::lock_guard queue(queue_);
    if (event.step < 0) event.step = last_step_;
    pending_.events.push_back(std::move(event));
  }

  void add_sample(SampleRow sample) {
    sample.time_ms = wall_clock_ms();
    const std::lock_guard queue(queue_);
    pending_.samples.push_back(std::move(sample));
  }

  void set_live(LiveState live) {
    live.heartbeat_ms = wall_clock_ms();
    const std::lock_guard queue(queue_);
    if (is_active(live.state) && live.state != status_) changes_.status = status_ = live.state;
    pending_.live = std::move(live);
  }

  void set_info(const RunInfo& info) {
    const std::lock_guard queue(queue_);
    changes_.info = info;
  }

  void change_checkpoint(CheckpointRow checkpoint, bool put) {
    if (checkpoint.created_ms == 0) checkpoint.created_ms = wall_clock_ms();
    const std::lock_guard queue(queue_);
    changes_.checkpoints.push_back({std::move(checkpoint), put});
  }

  std::vector<Command> poll_commands() {
    const std::lock_guard queue(queue_);
    return std::exchange(commands_, {});
  }

  void answer(int64_t command_id, std::string_view text, bool done) {
    const std::lock_guard queue(queue_);
    changes_.answers.push_back({command_id, std::string(text), done});
  }

  void flush() {
    const std::lock_guard io(io_);
    commit(true);
  }

  std::optional<Error> failure() const {
    const std::lock_guard queue(queue_);
    return failure_;
  }

  bool release_reserve() { return reserve_.release(); }

  void finish(RunStatus status, std::string_view reason) {
    const std::lock_guard io(io_);
    if (finished_) return;
    commit(true);
    reserve_.release();  // the last words may need it
    catalogue::set_status(*catalogue_, id_, status, reason);
    catalogue::answer_all_commands(*catalogue_, id_,
                                   fmt::format("Not done: the run has ended ({}).", status_name(status)));
    finished_ = true;
    file_->compact();
    file_.reset();
    catalogue_.reset();
    lock_.reset();
  }

 private:
  void loop(const std::stop_token& stop) {
    Clock::time_point next_commit = Clock::now(), next_poll = next_commit;
    while (!stop.stop_requested()) {
      {
        std::unique_lock queue(queue_);
        wake_.wait_for(queue, stop, tick, [this] { return pending_.rows() >= queue_limit && !failure_; });
      }
      const std::lock_guard io(io_);
      if (finished_) return;
      const Clock::time_point now = Clock::now();
      try {
        if (now >= next_poll) {
          next_poll = now + command_period;
          take_commands();
        }
        if (now >= next_commit || is_full()) {
          next_commit = now + commit_period;
          commit(false);
        }
      } catch (const Error& error) {
        set_failure(error);
        next_commit = next_poll = now + retry_period;
      } catch (const std::exception& error) {
        set_failure(Error(ErrorCode::Internal, error.what(), "This is a bug in Lathe; please report it."));
        next_commit = next_poll = now + retry_period;
      }
    }
  }

  void stop_thread() {
    thread_.request_stop();
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  bool is_full() const {
    const std::lock_guard queue(queue_);
    return pending_.rows() >= queue_limit;
  }

  // Writes everything queued: the run's own file first, then the catalogue (progress only now and then unless
  // `all`). On an Error what wasn't written stays for the next time. The caller holds io_, or is the last one
  // alive.
  void commit(bool all) {
    if (finished_) return;
    {
      const std::lock_guard queue(queue_);
      batch_.take(pending_);
      catalogue_batch_.take(changes_);
    }
    room_.notify_all();
    try {
      try {
        write_all(all);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::DiskFull || !reserve_.release()) throw;
        set_failure(error);
        batch_.events.push_back(
            {.step = progress_.step,
             .time_ms = wall_clock_ms(),
             .level = EventLevel::Error,
             .text = fmt::format("The disk that holds the history is full. {} were kept for this "
                                 "moment and are in use now; free some space.",
                                 bytes_text(ReserveFile::bytes))});
        write_all(all);
      }
      set_failure(disk_recovered() ? std::nullopt : failure());
    } catch (const Error& error) {
      set_failure(error);
      throw;
    }
  }

  void write_all(bool all) {
    if (!batch_.empty()) write_rows();
    write_catalogue(all);
  }

  void write_rows() {
    file_->write(batch_);
    for (const UpdateRow& row : batch_.updates) progress_.add(row);
    for (const EvaluationRow& row : batch_.evaluations) progress_.add(row);
    progress_changed_ |= !batch_.updates.empty() || !batch_.evaluations.empty();
    batch_ = {};
  }

  void write_catalogue(bool all) {
    if (progress_changed_ && (all || Clock::now() >= next_progress_)) {
      catalogue::set_progress(*catalogue_, id_, progress_);
      progress_changed_ = false;
      next_progress_ = Clock::now() + progress_period;
    }
    if (catalogue_batch_.empty()) return;
    catalogue_batch_.write(*catalogue_, id_);
    catalogue_batch_ = {};
  }

  // Whether an earlier failure is over: after a full disk only when there is room for the reserve again.
  bool disk_recovered() {
    const std::optional<Error> failed = failure();
    return !failed || failed->code() != ErrorCode::DiskFull || reserve_.take_when_there_is_room();
  }

  void set_failure(std::optional<Error> error) {
    {
      const std::lock_guard queue(queue_);
      failure_ = std::move(error);
    }
    room_.notify_all();
  }

  void take_commands() {
    const int64_t version = catalogue_->data_version();
    if (version == catalogue_version_) return;
    std::vector<Command> commands = catalogue::open_commands(*catalogue_, id_, last_command_);
    catalogue_version_ = version;
    if (commands.empty()) return;
    last_command_ = commands.back().id;
    const std::lock_guard queue(queue_);
    for (Command& command : commands) commands_.push_back(std::move(command));
  }

  const std::string id_;
  const std::filesystem::path folder_;
  std::optional<FileLock> lock_;
  ReserveFile reserve_;

  std::mutex io_;
  std::optional<RunFile> file_;
  std::unique_ptr<Database> catalogue_;
  RunBatch batch_;  // taken out of the queue, not yet committed
  CatalogueBatch catalogue_batch_;
  RunProgress progress_;
  bool progress_changed_ = false;
  Clock::time_point next_progress_ = Clock::now();
  int64_t catalogue_version_ = -1;
  int64_t last_command_ = 0;
  bool finished_ = false;

  mutable std::mutex queue_;
  std::condition_variable_any wake_;  // the thread waits
  std::condition_variable room_;      // callers far ahead wait
  RunBatch pending_;
  CatalogueBatch changes_;
  std::vector<Command> commands_;
  std::optional<Error> failure_;
  RunStatus status_ = RunStatus::Preparing;
  int64_t last_step_ = 0;
  bool has_session_ = false;

  std::jthread thread_;
};

RunWriter::RunWriter(const std::filesystem::path& home, std::string id, FileLock lock)
    : impl_(std::make_unique<Impl>(home, std::move(id), std::move(lock))) {}

RunWriter::~RunWriter() = default;

const std::string& RunWriter::id() const {
  return impl_->id();
}
const std::filesystem::path& RunWriter::folder() const {
  return impl_->folder();
}
int64_t RunWriter::begin_session(int64_t first_step) {
  return impl_->begin_session(first_step);
}
void RunWriter::add_update(const UpdateRow& row) {
  impl_->add(&RunBatch::updates, row);
}
void RunWriter::add_evaluation(const EvaluationRow& row) {
  impl_->add(&RunBatch::evaluations, row);
}
void RunWriter::add_group_stats(const GroupRow& row) {
  impl_->add(&RunBatch::groups, row);
}
void RunWriter::add_telemetry(const TelemetryRow& row) {
  impl_->add(&RunBatch::telemetry, row);
}

void RunWriter::add_event(EventLevel level, std::string_view text, int64_t step) {
  impl_->add_event({.step = step, .level = level, .text = std::string(text)});
}

void RunWriter::add_sample(int64_t step, std::string_view prompt, std::string_view text) {
  impl_->add_sample({.step = step, .prompt = std::string(prompt), .text = std::string(text)});
}

void RunWriter::set_live(const LiveState& live) {
  impl_->set_live(live);
}
void RunWriter::set_info(const RunInfo& info) {
  impl_->set_info(info);
}
void RunWriter::add_checkpoint(const CheckpointRow& checkpoint) {
  impl_->change_checkpoint(checkpoint, true);
}
void RunWriter::remove_checkpoint(int64_t step) {
  impl_->change_checkpoint({.step = step}, false);
}
std::vector<Command> RunWriter::poll_commands() {
  return impl_->poll_commands();
}
void RunWriter::answer_command(int64_t command_id, std::string_view answer, bool done) {
  impl_->answer(command_id, answer, done);
}
void RunWriter::flush() {
  impl_->flush();
}
std::optional<Error> RunWriter::failure() const {
  return impl_->failure();
}
bool RunWriter::release_reserve() {
  return impl_->release_reserve();
}
void RunWriter::finish(RunStatus status, std::string_view reason) {
  impl_->finish(status, reason);
}

}  // namespace lathe
