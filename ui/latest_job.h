// Slow work off the GUI thread, where only the newest answer counts: each run() supersedes the ones before,
// work that has not begun is dropped, and an answer that comes too late never reaches the window.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/api/error.h"

namespace lathe::ui {

class LatestJob : public QObject {
  Q_OBJECT
 public:
  explicit LatestJob(QObject* parent = nullptr);
  ~LatestJob() override;  // cancels and waits for the work at hand

  // Calls work() on a worker thread, then done(result) or failed(error) on the thread of this object, unless
  // run() or cancel() came between. `work` must own or outlive what it reads. Returns the job's id.
  template <class Work, class Done>
  int64_t run(Work work, Done done, std::function<void(const Error&)> failed = {}) {
    return start(
        [work = std::move(work), done = std::move(done)](const LatestJob&) mutable {
          auto result = std::make_shared<decltype(work())>(work());
          return [result, done = std::move(done)]() mutable { done(std::move(*result)); };
        },
        std::move(failed));
  }

  void cancel();
  bool busy() const { return busy_; }
  // For long work to look at: true once its answer is no longer wanted. Thread-safe.
  bool stale(int64_t id) const { return id != newest_; }
  int64_t newest() const { return newest_; }

 Q_SIGNALS:
  void busy_changed(bool busy);

 private:
  using Answer = std::function<void()>;
  int64_t start(std::function<Answer(const LatestJob&)> work, std::function<void(const Error&)> failed);
  void set_busy(bool busy);

  std::atomic<int64_t> newest_{0};
  bool busy_ = false;
  QThreadPool pool_;  // one thread: answers come in order
};

// Any exception as an Error.
Error as_error(std::exception_ptr exception);

}  // namespace lathe::ui
