// After a process was started for a run: waits until the run is listed and opens it, or reports why the
// process ended without one.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>

#include "ui/latest_job.h"

namespace lathe::ui {

struct AppContext;

class RunWatch : public QObject {
  Q_OBJECT
 public:
  explicit RunWatch(AppContext& context, QObject* parent = nullptr);
  void watch(const QString& after, const QString& log, qint64 process);

 private:
  void look();

  AppContext& context_;
  QString after_, log_;
  qint64 process_ = 0;
  qint64 process_start_ = 0;
  QTimer timer_;
  LatestJob job_;
};

}  // namespace lathe::ui
