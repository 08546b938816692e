// Charts that belong together: one x axis and range, one crosshair, one smoothing, and what of it is
// remembered.
#pragma once

#include <QJsonObject>
#include <QObject>
#include <QTimer>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ui/charts/chart_types.h"

namespace lathe::ui {

class Chart;

class ChartGroup : public QObject {
  Q_OBJECT
 public:
  explicit ChartGroup(QObject* parent = nullptr);

  // The chart then shows the group's settings. It leaves by itself when it is destroyed.
  void add(Chart* chart);
  const std::vector<Chart*>& charts() const { return charts_; }

  void set_axis(const ChartAxis& axis);  // the points must come anew in the axis' unit
  void set_colors(const ChartColors& colors);
  double smoothing() const { return smoothing_; }
  void set_smoothing(double weight);
  bool log_y() const { return log_y_; }
  void set_log_y(bool on);
  bool clip_outliers() const { return clip_; }
  void set_clip_outliers(bool on);
  // When zoomed in, the range moves on with new points, keeping its width.
  bool follow() const { return follow_; }
  void set_follow(bool on);

  // Nothing: everything there is, growing with new points.
  std::optional<std::pair<double, double>> range() const { return range_; }
  void set_range(double low, double high);
  void show_all();

  void set_hidden(const QString& series, bool hidden);  // in every chart, also where it comes later
  // A series is known by its key up to the '/': what follows are parts of it, hidden together.
  void set_parts_together(bool on) { parts_together_ = on; }

  // Settings, not the range: {"smoothing", "log_y", "log_y_of": {chart: …}, "clip", "follow", "hidden": […]}.
  QJsonObject state() const;
  void restore(const QJsonObject& state);

 Q_SIGNALS:
  void settings_changed();
  void range_changed();

 private:
  QString series_of(const QString& key) const;
  void update_range();
  void set_cursor(Chart* from, double x);
  std::pair<double, double> extent() const;

  std::vector<Chart*> charts_;
  ChartAxis axis_;
  ChartColors colors_;
  double smoothing_ = 0.95;
  bool log_y_ = false, clip_ = false, follow_ = true;
  std::map<QString, bool> log_y_of_;  // charts whose own choice it is
  std::set<QString> hidden_;
  bool parts_together_ = false;
  std::optional<std::pair<double, double>> range_;
  double last_end_ = 0;  // end of the extent when the range was last looked at
  QTimer update_;
};

}  // namespace lathe::ui
