#include "ui/models/catalogue_feed.h"

#include <QTimer>

#include "core/history/history_store.h"
#include "ui/latest_job.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr int kPollMs = 250;
// A run whose process died leaves no trace in the catalogue until somebody looks for its lock.
constexpr int kRepairEvery = 20;

}  // namespace

CatalogueFeed::CatalogueFeed(OpenHistory open, QThread* thread, QObject* parent)
    : QObject(parent), worker_(new CatalogueWorker(std::move(open))) {
  qRegisterMetaType<RunListPtr>();
  worker_->moveToThread(thread);
  connect(worker_, &CatalogueWorker::listed, this, &CatalogueFeed::listed);
}

CatalogueFeed::~CatalogueFeed() {
  worker_->deleteLater();
}

void CatalogueFeed::set_active(bool active) {
  QMetaObject::invokeMethod(
      worker_, [worker = worker_, active] { worker->set_active(active); }, Qt::QueuedConnection);
}

void CatalogueFeed::look_now() {
  QMetaObject::invokeMethod(worker_, &CatalogueWorker::look, Qt::QueuedConnection);
}

CatalogueWorker::CatalogueWorker(OpenHistory open) : open_(std::move(open)), timer_(new QTimer(this)) {
  timer_->setInterval(kPollMs);
  connect(timer_, &QTimer::timeout, this, &CatalogueWorker::look);
}

CatalogueWorker::~CatalogueWorker() = default;

void CatalogueWorker::set_active(bool active) {
  if (!active) {
    timer_->stop();
    return;
  }
  timer_->start();
  look();
}

void CatalogueWorker::look() {
  RunList list;
  try {
    if (!store_) store_ = open_();
    if (++looks_ % kRepairEvery == 0) store_->repair_interrupted();
    const int64_t version = store_->data_version();
    if (version == version_ && looks_ % kRepairEvery != 0) return;
    const std::map<std::string, std::string> notes = store_->notes();
    for (RunSummary& run : store_->list({.archived = true})) {
      const auto note = notes.find(run.id);
      list.runs.push_back({std::move(run), note == notes.end() ? std::string() : note->second});
    }
    version_ = version;
    last_error_.clear();
  } catch (...) {
    const Error error = as_error(std::current_exception());
    store_.reset();
    version_ = -1;
    const QString text = to_qt(std::string_view(error.what()));
    if (text == last_error_) return;
    list.error = last_error_ = text;
  }
  Q_EMIT listed(std::make_shared<const RunList>(std::move(list)));
}

}  // namespace lathe::ui
