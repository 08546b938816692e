// One chart: a title line, a legend of toggles, and curves over x. Any number of series, each known by a key.
//
// Live or finished makes no difference: assign() sets the points of a series, append() adds those that came.
// Both only mark the chart; it paints itself once a frame, from at most four points a pixel and series.
// The x range and everything alike in several charts come from the group (chart_group.h).
#pragma once

#include <QImage>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "ui/charts/chart_types.h"

class QMenu;
class QPaintDevice;

namespace lathe::ui {

class SeriesData;

class Chart : public QWidget {
  Q_OBJECT
 public:
  using Range = std::pair<double, double>;

  explicit Chart(ChartInfo info, QWidget* parent = nullptr);
  ~Chart() override;

  const ChartInfo& info() const;

  // Adds the series, or restyles it. Later series are painted over earlier ones.
  void set_series(const QString& key, const SeriesStyle& style);
  void remove_series(const QString& key);
  void clear();
  void assign(const QString& key, PointColumns points);
  // The same, made ready elsewhere (on a worker: a million points take a tenth of a second); the chart's from
  // now on.
  void assign(const QString& key, std::shared_ptr<SeriesData> data);
  void append(const QString& key, const PointColumns& points);

  QStringList series_keys() const;  // in order of painting
  const SeriesStyle& style(const QString& key) const;
  const SeriesData& data(const QString& key) const;
  bool is_hidden(const QString& key) const;
  void set_hidden(const QString& key, bool hidden);
  void set_hidden_at_first(std::function<bool(const QString& key)> hidden);  // asked for each new series

  void set_colors(const ChartColors& colors);
  void set_axis(const ChartAxis& axis);
  void set_smoothing(double weight);  // of series whose style wants it; see SeriesData
  void set_log_y(bool on);            // no effect where the chart doesn't allow it
  void set_clip_outliers(bool on);    // y fits the middle 98% of what is in sight
  void set_legend_visible(bool on);   // default: with two series or more
  void set_latest_visible(bool on);   // the last value in the title line; default: yes
  void set_empty_text(const QString& text);
  void set_wheel_needs_focus(bool on);
  bool log_y() const;
  QMenu* menu() const;  // behind the button in the title line; pages add their actions

  std::optional<Range> x_extent() const;  // of the series in sight; nothing without points
  Range x_range() const;
  void set_x_range(double low, double high);
  void set_y_range(std::optional<Range> range);  // nothing: fits what is in sight
  Range y_range() const;                         // as painted last
  // Draws the line at x, and with `readout` the values there; NaN: none.
  void set_crosshair(double x, bool readout);

  // What a person who can't see the curves is told: series, ranges, last values.
  QString summary() const;
  // Paints now what is waiting to be painted.
  void paint_now();
  // The chart as a picture with title, legend and axis labels, `size` in logical pixels. Decimated anew for
  // the scaled size: takes about as long as a frame, whatever the number of points.
  QImage picture(const QSize& size, double scale);
  void paint_picture(QPaintDevice& device, const QSize& size);  // vectors, for SVG and PDF

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void data_changed();
  void x_range_wanted(double low, double high);
  void reset_wanted();
  void cursor_moved(double x);
  void toggled(const QString& series, bool hidden);
  void log_y_chosen(bool on);
  void picture_wanted();
  void csv_wanted();
  void table_wanted();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::ui
