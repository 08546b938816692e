#include "ui/models/run_feed.h"

#include "ui/models/run_feed_worker.h"

namespace lathe::ui {

RunFeed::RunFeed(OpenHistory open, QThread* thread, QObject* parent)
    : QObject(parent), worker_(new RunFeedWorker(std::move(open))) {
  qRegisterMetaType<RunDeltaPtr>();
  worker_->moveToThread(thread);
  connect(worker_, &RunFeedWorker::delta, this, [this](const RunDeltaPtr& one) {
    if (one->request == newest_) Q_EMIT delta(one);
  });
}

RunFeed::~RunFeed() {
  worker_->deleteLater();
}

void RunFeed::request(const RunRequest& request) {
  QMetaObject::invokeMethod(
      worker_, [worker = worker_, id = ++newest_, request] { worker->start(id, request); },
      Qt::QueuedConnection);
}

void RunFeed::close() {
  ++newest_;
  QMetaObject::invokeMethod(worker_, &RunFeedWorker::stop, Qt::QueuedConnection);
}

void RunFeed::set_active(bool active) {
  QMetaObject::invokeMethod(
      worker_, [worker = worker_, active] { worker->set_active(active); }, Qt::QueuedConnection);
}

}  // namespace lathe::ui
