// The plot inside a chart: QCustomPlot with our gestures. Knows nothing of series; the chart fills it.
//   drag: zoom into the box · Shift or middle button and drag: pan · wheel: zoom around the pointer ·
//   double click: all of it
// Only chart*.cpp in this folder may include it.
#pragma once

#include "ui/charts/qcustomplot_header.h"

#include <QPointF>
#include <optional>

namespace lathe::ui {

class ChartPlot : public QCustomPlot {
  Q_OBJECT
 public:
  explicit ChartPlot(QWidget* parent);

  // The wheel scrolls what is behind unless the chart has the focus: for charts in a scroll area.
  void set_wheel_needs_focus(bool on) { wheel_needs_focus_ = on; }
  // Between press and release of a pan: antialiasing is off.
  bool dragging() const { return pan_from_.has_value(); }

 Q_SIGNALS:
  void x_range_wanted(double low, double high);
  void y_range_wanted(double low, double high);
  void reset_wanted();
  void cursor_moved(double x);  // NaN: the pointer left
  void drag_ended();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  void zoom_to(const QRect& box);

  struct Pan {
    QPointF at;
    QCPRange x;
  };
  std::optional<Pan> pan_from_;
  bool wheel_needs_focus_ = false;
};

}  // namespace lathe::ui
