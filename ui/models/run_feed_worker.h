// The reading half of a RunFeed. Lives on the feed's thread. Included by run_feed*.cpp only.
#pragma once

#include <QObject>
#include <QTimer>
#include <map>
#include <memory>

#include "core/history/history_store.h"
#include "core/history/run_reader.h"
#include "ui/models/run_feed.h"

namespace lathe::ui {

class RunFeedWorker : public QObject {
  Q_OBJECT
 public:
  explicit RunFeedWorker(OpenHistory open);

  void start(int64_t id, const RunRequest& request);
  void set_active(bool active);
  void stop();

 Q_SIGNALS:
  void delta(const lathe::ui::RunDeltaPtr& delta);

 private:
  // What has been read of one table.
  struct TableState {
    std::vector<std::string> metrics;
    int64_t last_seq = 0;
    bool raw = false;  // every row has been handed over; before, points that stand for many
  };

  void look();
  void open();
  void restart(RunDelta& delta);
  void read_catalogue(RunDelta& delta);
  void read_table(MetricTable table, TableState& state, RunDelta& delta);
  bool refine(RunDelta& delta);
  void read_texts(RunDelta& delta);
  void send(RunDelta delta);

  OpenHistory open_history_;
  std::unique_ptr<HistoryStore> store_;
  std::unique_ptr<RunReader> reader_;
  RunRequest request_;
  int64_t id_ = 0;
  std::map<MetricTable, TableState> tables_;
  int64_t run_version_ = -1, catalogue_version_ = -1, generation_ = -1;
  int64_t last_event_ = 0, last_sample_ = 0;
  bool running_ = false, complete_ = false;
  QString last_error_;
  QTimer* timer_;
};

}  // namespace lathe::ui
