// After a process was started for a run: waits until the run trains and opens it, or reports why the process
// ended before.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <optional>

#include "ui/latest_job.h"

namespace lathe {
class HistoryStore;
}

namespace lathe::ui {

struct AppContext;

class RunWatch : public QObject {
  Q_OBJECT
 public:
  explicit RunWatch(AppContext& context, QObject* parent = nullptr);
  void watch(const QString& after, const QString& log, qint64 process);  // a run newer than `after`
  void resume(const QString& run, std::optional<qint64> step);           // starts the process as well

 private:
  // The run that has begun, or nothing.
  using Begun = std::function<QString(HistoryStore& history)>;
  void wait_for(Begun begun, const QString& log, qint64 process);
  void look();

  AppContext& context_;
  Begun begun_;
  QString log_;
  qint64 process_ = 0;
  qint64 process_start_ = 0;
  QTimer timer_;
  LatestJob job_, start_;
};

}  // namespace lathe::ui
