#include "core/train/training_session.h"

#include <utility>

namespace lathe {

std::unique_ptr<TrainingSession> TrainingSession::start(const std::filesystem::path& home,
                                                        const BackendRegistry& registry, RunConfig config,
                                                        std::function<void()> changed) {
  const Open open = [&registry, config = std::move(config)](HistoryStore& history) {
    return TrainingRun::create(history, registry, config);
  };
  return std::unique_ptr<TrainingSession>(new TrainingSession(home, open, std::move(changed)));
}

std::unique_ptr<TrainingSession> TrainingSession::resume(const std::filesystem::path& home,
                                                         const BackendRegistry& registry, std::string run,
                                                         std::optional<int64_t> step,
                                                         std::function<void()> changed) {
  const Open open = [&registry, run = std::move(run), step](HistoryStore& history) {
    return TrainingRun::resume(history, registry, run, step);
  };
  return std::unique_ptr<TrainingSession>(new TrainingSession(home, open, std::move(changed)));
}

TrainingSession::TrainingSession(std::filesystem::path home, Open open, std::function<void()> changed)
    : changed_(std::move(changed)),
      thread_([this, home = std::move(home), open = std::move(open)] { work(home, open); }) {}

TrainingSession::~TrainingSession() {
  control_.stop_now();
}

void TrainingSession::work(const std::filesystem::path& home, const Open& open) {
  try {
    HistoryStore history(home);
    const std::unique_ptr<TrainingRun> run = open(history);
    {
      const std::lock_guard lock(mutex_);
      run_id_ = run->id();
    }
    enter(State::Running);
    const TrainingResult result = run->execute(control_, {});
    const std::lock_guard lock(mutex_);
    result_ = result;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    error_ = Error(ErrorCode::Internal, error.what(), "This is a bug in Lathe; please report it.");
  }
  enter(State::Ended);
}

void TrainingSession::enter(State state) {
  {
    const std::lock_guard lock(mutex_);
    state_ = state;
  }
  if (changed_) changed_();
}

TrainingSession::State TrainingSession::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::string TrainingSession::run_id() const {
  const std::lock_guard lock(mutex_);
  return run_id_;
}

std::optional<TrainingResult> TrainingSession::result() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

std::optional<Error> TrainingSession::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace lathe
