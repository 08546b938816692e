// Changes to the history, one after the other on a worker: renames, tags, notes, deletions. None is dropped;
// an error is reported, and the next one is still done.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <functional>

#include "kernels/api/error.h"
#include "ui/models/history_thread.h"

namespace lathe::ui {

class HistoryEditor : public QObject {
  Q_OBJECT
 public:
  explicit HistoryEditor(OpenHistory open, QObject* parent = nullptr);
  ~HistoryEditor() override;  // finishes what is queued

  using Edit = std::function<void(HistoryStore&)>;
  // `done` is called on this object's thread when the edit succeeded.
  void run(Edit edit, std::function<void()> done = {});

 Q_SIGNALS:
  void edited();
  void failed(const lathe::Error& error);

 private:
  OpenHistory open_;
  QThreadPool pool_;
};

}  // namespace lathe::ui
