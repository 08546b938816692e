#include "ui/models/history_editor.h"

#include <optional>

#include "core/history/history_store.h"
#include "ui/latest_job.h"

namespace lathe::ui {

HistoryEditor::HistoryEditor(OpenHistory open, QObject* parent) : QObject(parent), open_(std::move(open)) {
  pool_.setMaxThreadCount(1);  // in order
}

HistoryEditor::~HistoryEditor() {
  pool_.waitForDone();
}

void HistoryEditor::run(Edit edit, std::function<void()> done) {
  pool_.start([this, open = open_, edit = std::move(edit), done = std::move(done)] {
    std::optional<Error> error;
    try {
      edit(*open());
    } catch (...) {
      error = as_error(std::current_exception());
    }
    QMetaObject::invokeMethod(
        this,
        [this, error, done] {
          if (error) {
            Q_EMIT failed(*error);
            return;
          }
          if (done) done();
          Q_EMIT edited();
        },
        Qt::QueuedConnection);
  });
}

}  // namespace lathe::ui
