// Everything about one run as it comes: a worker looks at the run's file every 100 ms and hands over what is
// new, as values. Live or finished, own or of another process: it is the same road.
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/history/metrics.h"
#include "core/history/run_types.h"
#include "ui/charts/chart_types.h"
#include "ui/charts/series_data.h"
#include "ui/models/history_thread.h"

namespace lathe::ui {

// What to read of a run. Metrics may be of any tables.
struct RunRequest {
  std::string run{};
  std::vector<std::string> metrics{};
  Axis axis = Axis::Step;
  double smoothing = 0;  // the charts' weight of the moving average, for metrics that have one
  bool texts = true;     // events, samples and checkpoints too
};

// Points of a series: all of them, ready to be drawn and for the one who draws them to keep, or those that
// follow.
struct FeedPoints {
  std::string metric{};
  std::string part{};  // validation set or parameter group; empty: the metric has none
  std::shared_ptr<SeriesData> all{};
  PointColumns more{};  // where `all` is null
  size_t size() const { return all ? all->size() : more.size(); }
  double y(size_t index) const { return all ? all->y(index) : more.y[index]; }
};

struct RunDelta {
  int64_t request = 0;
  bool restart = false;  // everything shown of the run before is void
  std::optional<RunDetails> details{};
  std::optional<std::vector<CheckpointRow>> checkpoints{};
  std::optional<LiveState> live{};
  std::vector<FeedPoints> points{};
  std::vector<EventRow> events{};
  std::vector<SampleRow> samples{};
  bool complete = false;  // every stored row has been handed over once
  QString error{};        // why the run can't be read; the next deltas may still come
};
using RunDeltaPtr = std::shared_ptr<const RunDelta>;

class RunFeedWorker;

class RunFeed : public QObject {
  Q_OBJECT
 public:
  // `thread` must outlive the feed; several may share one.
  RunFeed(OpenHistory open, QThread* thread, QObject* parent = nullptr);
  ~RunFeed() override;

  // Starts over with another run, axis or choice of metrics. Answers to what was asked before are dropped.
  void request(const RunRequest& request);
  void close();  // reads nothing any more
  // Between false and true nothing is read; what came meanwhile comes at once afterwards.
  void set_active(bool active);

 Q_SIGNALS:
  void delta(const lathe::ui::RunDeltaPtr& delta);

 private:
  RunFeedWorker* worker_;  // lives on the thread, deletes itself there
  int64_t newest_ = 0;
};

}  // namespace lathe::ui

Q_DECLARE_METATYPE(lathe::ui::RunDeltaPtr)
