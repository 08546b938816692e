// The charts of one run: which metrics each shows, and how what comes from the history gets into them.
#pragma once

#include <QWidget>
#include <string>
#include <vector>

#include "core/history/metrics.h"
#include "ui/models/run_feed.h"

namespace lathe::ui {

struct AppContext;
class ChartBoard;

class RunCharts : public QWidget {
  Q_OBJECT
 public:
  explicit RunCharts(AppContext& context, QWidget* parent = nullptr);

  std::vector<std::string> metrics() const;  // of the charts shown
  Axis axis() const;
  double smoothing() const;
  void apply(const RunDelta& delta);
  void clear();
  ChartBoard& board() { return *board_; }

 Q_SIGNALS:
  void request_changed();                  // other metrics, or another axis
  void rows_wanted(const QString& table);  // export every row of it

 private:
  void apply_points(const FeedPoints& points);
  void restyle();

  AppContext& context_;
  ChartBoard* board_;
  bool active_ = false, complete_ = false;
  QString empty_;  // what a chart without values says
};

}  // namespace lathe::ui
