// The times of a run: how long it was active, what an update took, and how much longer it will take. Pauses
// don't count. Reads no clock itself: every moment comes from the caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace lathe {

struct WindowTimes {
  double step_ms;              // from the device's start on it to its end
  double end_to_end_ms;        // from the end of the update before: evaluation and saving included
  double forward_backward_ms;  // of step_ms
  double update_ms;            // the rest of step_ms: clipping and optimizer
};

class RunClock {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // A session begins.
  void begin(int64_t active_ms_before, Moment now);
  // The run goes on from an earlier state that had been active for so long.
  void set_back(int64_t active_ms_before, Moment now);
  void pause(Moment now);
  void go_on(Moment now);

  // The host begins an update; the device may still be busy with the one before.
  void begin_update(Moment now) { update_begin_ = now; }
  Moment update_begin() const { return update_begin_; }
  // An update that began at `begin` is done.
  WindowTimes end_update(Moment begin, Moment backward_end, Moment end);

  int64_t active_ms(Moment now) const;
  // Of this session's updates behind its warm-up, evaluation and saving included; nothing before.
  std::optional<double> ms_per_update() const;

 private:
  static constexpr int64_t kWarmUpdates = 3;

  std::optional<Moment> paused_at_;
  Moment active_since_;  // active time counts from here, on top of active_before_ms_
  int64_t active_before_ms_ = 0;
  Moment update_begin_, last_end_;
  int64_t updates_ = 0;  // of this session
  Moment warm_since_;    // end of its warm-up
};

// Notices when updates take far longer than those this session began with: another program on the GPU, heat,
// or memory spilled to the host.
class SpeedWatch {
 public:
  // How many times longer updates now take, told once when the third in a row takes more than twice as long.
  std::optional<double> slower(double step_ms);

 private:
  static constexpr size_t kKnown = 32;

  double known_[kKnown] = {};  // step_ms of the first updates, sorted once there are that many
  size_t count_ = 0;
  int64_t slow_in_a_row_ = 0;
};

}  // namespace lathe
