#include "ui/latest_job.h"

#include <QMetaObject>
#include <exception>
#include <new>
#include <optional>

namespace lathe::ui {

Error as_error(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::OutOfMemory, "The system has no memory left for this.");
  } catch (const std::exception& error) {
    return Error(ErrorCode::Internal, error.what(), "This is a bug in Lathe; please report it.");
  } catch (...) {
    return Error(ErrorCode::Internal, "An unknown exception.", "This is a bug in Lathe; please report it.");
  }
}

LatestJob::LatestJob(QObject* parent) : QObject(parent) {
  pool_.setMaxThreadCount(1);
  pool_.setExpiryTimeout(5000);
}

LatestJob::~LatestJob() {
  ++newest_;
  pool_.clear();
  pool_.waitForDone();
}

void LatestJob::cancel() {
  ++newest_;
  pool_.clear();
  set_busy(false);
}

int64_t LatestJob::start(std::function<Answer(const LatestJob&)> work,
                         std::function<void(const Error&)> failed) {
  const int64_t id = ++newest_;
  pool_.clear();
  set_busy(true);
  // `this` outlives the work: the destructor waits. The answer is an event to this object, dropped with it.
  pool_.start([this, id, work = std::move(work), failed = std::move(failed)]() mutable {
    if (stale(id)) return;
    Answer answer;
    std::optional<Error> error;
    try {
      answer = work(*this);
    } catch (...) {
      error = as_error(std::current_exception());
    }
    if (stale(id)) return;
    QMetaObject::invokeMethod(
        this,
        [this, id, answer = std::move(answer), error = std::move(error), failed = std::move(failed)] {
          if (stale(id)) return;
          set_busy(false);
          if (!error) {
            answer();
          } else if (failed) {
            failed(*error);
          }
        },
        Qt::QueuedConnection);
  });
  return id;
}

void LatestJob::set_busy(bool busy) {
  if (busy_ == busy) return;
  busy_ = busy;
  Q_EMIT busy_changed(busy);
}

}  // namespace lathe::ui
