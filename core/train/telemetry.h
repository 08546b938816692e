// Watches the device beside a run: a reading a second, or as often as asked, into the history, and alerts
// when something is wrong.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/history/run_writer.h"
#include "core/train/run_control.h"
#include "kernels/api/backend.h"

namespace lathe {

// Where a run stands, readable from any thread.
struct SharedPosition {
  std::atomic<int64_t> step{0}, tokens{0}, active_ms{0};
};

// What an alert is about; each is said once until it is over.
enum class Alert { Spill, Throttling, DiskLow };
inline constexpr int kAlertCount = 3;

// Alerts that hold for a reading: text for people, empty where all is well. `arena_bytes` is what the run
// holds, `free_disk_bytes` what is left where it saves, `checkpoint_bytes` the next save.
struct AlertTexts {
  std::string text[kAlertCount];
};
AlertTexts judge(const DeviceTelemetry& reading, int64_t arena_bytes, int64_t free_disk,
                 int64_t checkpoint_bytes);

class Telemetry {
 public:
  // Starts the thread; the references must outlive it. A backend without sensors gives host memory only.
  Telemetry(const Backend& backend, RunWriter& writer, const SharedPosition& position,
            const RunControl& control, int64_t arena_bytes, int64_t checkpoint_bytes);
  ~Telemetry();

 private:
  void work(const std::stop_token& stop);
  void sample();

  const Backend& backend_;
  RunWriter& writer_;
  const SharedPosition& position_;
  const RunControl& control_;
  const int64_t arena_bytes_, checkpoint_bytes_;
  bool alerted_[kAlertCount] = {};
  std::jthread thread_;  // last: joins before the rest goes
};

}  // namespace lathe
