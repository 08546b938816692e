// What the history knows about a run besides its numbers: the values that go into and come out of history.db.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe {

// Preparing to Stopping: a process holds the run's lock. The others are ends; Interrupted is the end nobody
// wrote: the process died, and whoever opened the history next found the lock free.
enum class RunStatus { Preparing, Running, Paused, Stopping, Finished, Stopped, Failed, Interrupted };

std::string_view status_name(RunStatus status);  // "preparing", "running", …
RunStatus parse_status(std::string_view name);   // throws Error CorruptFile on an unknown name
bool is_active(RunStatus status);                // Preparing, Running, Paused, Stopping

using SettingRows = std::vector<std::pair<std::string, std::string>>;  // key, text form; in the table's order

// Names a checkpoint of another run.
struct RunParent {
  std::string run{};
  int64_t step = 0;
};

// What is known before step 1.
struct RunInfo {
  std::string name{};           // shown to people; empty: the id stands in
  std::string settings_json{};  // the whole configuration, every `auto` resolved
  SettingRows settings{};       // the same as rows, for search, filters and comparison
  std::optional<RunParent> parent{};
  std::string device{};         // "NVIDIA GeForce RTX 5080, 16 GiB", "CPU, 8 cores"
  std::string versions_json{};  // lathe, driver, libraries: a JSON object of texts
  // Where metric memory_process comes from: "driver" (reported), "inferred" (arena + measured overhead),
  // "host" (resident set).
  std::string memory_source{};
  std::optional<double> predicted_tokens_per_s{};  // nominal, step only
  std::optional<int64_t> planned_peak_bytes{};     // the memory plan plus overhead, as promised before launch
  std::string notes{};
  std::vector<std::string> tags{};
};

// One row of the list of runs. Comes from the catalogue alone: listing opens no run file.
struct RunSummary {
  std::string id{};    // 10 characters 0-9a-z; sorts by creation
  std::string name{};  // never empty: the id where no name was given
  RunStatus status = RunStatus::Preparing;
  std::string status_reason{};  // why it ended, or where an interrupted run can resume
  int64_t created_ms = 0;       // wall clocks are ms since 1970 (UTC)
  std::optional<int64_t> started_ms{};
  std::optional<int64_t> finished_ms{};
  int64_t step = 0;    // last visible update
  int64_t tokens = 0;  // consumed up to that step, nominal
  int64_t active_ms = 0;
  std::optional<double>
      best_loss;  // smallest finite training loss; NaN and infinity survive in last_loss only
  std::optional<double> last_loss{};
  std::optional<double> last_eval_loss{};          // first validation set
  std::optional<double> tokens_per_s{};            // nominal, step only: median of the last 64 updates
  std::optional<double> predicted_tokens_per_s{};  // the same quantity, predicted before launch
  std::optional<int64_t> planned_peak_bytes{};     // promised before launch
  std::optional<int64_t> measured_peak_bytes{};    // largest memory_process over the run
  std::optional<int64_t> last_checkpoint_step{};   // newest complete checkpoint
  std::vector<float> sparkline{};  // up to 64 points of training loss over the run; may hold NaN
  std::optional<RunParent> parent{};
  std::string device{};
  bool archived = false;
  std::vector<std::string> tags{};  // sorted
};

// Everything the catalogue knows of one run.
struct RunDetails : RunSummary {
  std::string notes{};
  std::string settings_json{};
  SettingRows settings{};
  std::string versions_json{};
  std::string memory_source{};
  std::filesystem::path folder{};  // runs/<id> in the home folder
};

struct CheckpointRow {
  int64_t step = 0;
  std::string path{};  // relative to the run's folder, '/' between parts
  int64_t bytes = 0;
  bool complete = false;   // its manifest is on disk
  int64_t created_ms = 0;  // 0 on writing: now
};

// Requests to a running trainer; see Trainer for when each acts.
enum class CommandKind { Pause, Resume, Stop, StopNow, Save, Evaluate, Sample };

std::string_view command_name(CommandKind kind);  // "pause", "resume", "stop", "stop_now", …
CommandKind parse_command(std::string_view name);

struct Command {
  int64_t id = 0;
  std::string run{};
  CommandKind kind = CommandKind::Pause;
  std::string argument{};  // Sample: the prompt
  int64_t posted_ms = 0;
  std::optional<int64_t> answered_ms{};
  bool done = false;     // answered, and it was done
  std::string answer{};  // what the trainer did, or why not
};

enum class EventLevel { Info, Warning, Error };

std::string_view level_name(EventLevel level);  // "info", "warning", "error"
EventLevel parse_level(std::string_view name);

struct EventRow {
  int64_t id = 0;
  int64_t session = 0;
  int64_t step = 0;
  int64_t time_ms = 0;
  EventLevel level = EventLevel::Info;
  std::string text{};
};

// Text the model wrote during the run.
struct SampleRow {
  int64_t id = 0;
  int64_t session = 0;
  int64_t step = 0;
  int64_t time_ms = 0;
  std::string prompt{};
  std::string text{};
};

// What a run is doing this moment; one row, overwritten. A real update takes seconds, so the window shows
// this between.
struct LiveState {
  RunStatus state = RunStatus::Preparing;
  std::string phase{};              // "micro-step", "update", "evaluation", "saving", …
  int64_t step = 0;                 // updates done
  int64_t micro_step = 0;           // 9 of "9/16"
  int64_t micro_steps = 0;          // 16
  std::optional<int64_t> eta_ms{};  // time left to the run's end
  int64_t heartbeat_ms = 0;         // wall clock of the last set_live; stamped by the writer
};

// One sitting of a run: from start or resume to its end.
struct SessionRow {
  int64_t id = 0;
  int64_t started_ms = 0;
  int64_t first_step = 0;  // the first update this session makes
  int64_t visible_before =
      0;  // rows of this session from that step on are superseded by a later one; INT64_MAX: none
  int64_t process = 0;  // process id
  std::string host{};
};

}  // namespace lathe
