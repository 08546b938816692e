// Requests to a training loop, from any thread. The loop reads flags where it can act on them; nothing waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe {

// How the phase of a run begins that is paused until its disk can be written again; what it needs follows.
inline constexpr std::string_view kWaitsForDisk = "waiting for the disk";

class RunControl {
 public:
  // Act at the next micro-step.
  void pause() { set(paused_, true); }
  void resume() { set(paused_, false); }
  void stop_now() {
    set(stop_now_, true);
  }  // drops the open window; the last checkpoint stays the resume point
  // Act at the next update.
  void stop() { set(stop_, true); }  // saves, then stops
  void save() { save_ = true; }
  void evaluate() { evaluate_ = true; }
  void sample(std::string prompt) {  // empty: the run's own prompts
    const std::lock_guard lock(mutex_);
    prompts_.push_back(std::move(prompt));
  }

  // How often the device is read into the history; counts from the next reading on.
  void set_telemetry_every(std::chrono::milliseconds time) { telemetry_every_ = time; }
  std::chrono::milliseconds telemetry_every() const { return telemetry_every_; }

  bool paused() const { return paused_; }
  bool stopping() const { return stop_ || stop_now_; }
  bool stop_now_requested() const { return stop_now_; }
  bool stop_requested() const { return stop_; }
  // Something that acts at the next update is asked for.
  bool update_request() const {
    const std::lock_guard lock(mutex_);
    return stopping() || save_ || evaluate_ || !prompts_.empty();
  }

  // For the loop: each request is handed out once.
  bool take_save() { return save_.exchange(false); }
  bool take_evaluate() { return evaluate_.exchange(false); }
  std::vector<std::string> take_samples() {
    const std::lock_guard lock(mutex_);
    return std::exchange(prompts_, {});
  }

  // Sleeps while paused, at most `ms` milliseconds at a time so that the loop can look for outside commands.
  void wait_while_paused(int ms) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return !paused_ || stopping(); });
  }

 private:
  void set(std::atomic<bool>& flag, bool value) {
    {
      const std::lock_guard lock(mutex_);
      flag = value;
    }
    changed_.notify_all();
  }

  std::atomic<bool> paused_{false}, stop_now_{false}, stop_{false}, save_{false}, evaluate_{false};
  std::atomic<std::chrono::milliseconds> telemetry_every_{std::chrono::milliseconds(1000)};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> prompts_;
};

}  // namespace lathe
