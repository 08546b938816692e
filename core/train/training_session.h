// An own run on a thread of its own: what the window holds. The thread prepares and trains; numbers travel
// through the history, only state, end and errors come directly.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/config/run_config.h"
#include "core/train/run_control.h"
#include "core/train/training_run.h"
#include "kernels/api/error.h"

namespace lathe {

class TrainingSession {
 public:
  enum class State { Preparing, Running, Ended };

  // Starts a new run, or goes on with one. `registry` must outlive the session. `changed` is called on the
  // training thread whenever state() changes; it must only pass the word on.
  static std::unique_ptr<TrainingSession> start(const std::filesystem::path& home,
                                                const BackendRegistry& registry, RunConfig config,
                                                std::function<void()> changed);
  static std::unique_ptr<TrainingSession> resume(const std::filesystem::path& home,
                                                 const BackendRegistry& registry, std::string run,
                                                 std::optional<int64_t> step, std::function<void()> changed);

  // Asks for stop-now and waits. Call control().stop() and wait for Ended to save first.
  ~TrainingSession();

  RunControl& control() { return control_; }
  State state() const;
  std::string run_id() const;                    // empty while preparing has not listed the run yet
  std::optional<TrainingResult> result() const;  // once ended without an error
  std::optional<Error> error() const;            // once ended by one

 private:
  using Open = std::function<std::unique_ptr<TrainingRun>(HistoryStore&)>;
  TrainingSession(std::filesystem::path home, Open open, std::function<void()> changed);
  void work(const std::filesystem::path& home, const Open& open);
  void enter(State state);

  RunControl control_;
  std::function<void()> changed_;
  mutable std::mutex mutex_;
  State state_ = State::Preparing;
  std::string run_id_;
  std::optional<TrainingResult> result_;
  std::optional<Error> error_;
  std::jthread thread_;  // last: joins before the rest goes
};

}  // namespace lathe
