#include "ui/charts/chart_plot.h"

#include <cmath>
#include <limits>

namespace lathe::ui {

ChartPlot::ChartPlot(QWidget* parent) : QCustomPlot(parent) {
  setNoAntialiasingOnDrag(true);
  setInteractions(QCP::iNone);
  setMouseTracking(true);
  setFocusPolicy(Qt::NoFocus);  // the chart has it
  connect(selectionRect(), &QCPSelectionRect::accepted, this,
          [this](const QRect& box, QMouseEvent*) { zoom_to(box.normalized()); });
}

void ChartPlot::zoom_to(const QRect& box) {
  constexpr int least = 4;  // pixels: less is a click with an unsteady hand
  if (box.width() < least) return;
  const double low = xAxis->pixelToCoord(box.left());
  const double high = xAxis->pixelToCoord(box.right());
  // A flat box means x only, as does one over nearly the whole height.
  const bool with_y = box.height() >= 4 * least && box.height() < axisRect()->height() * 9 / 10;
  if (with_y) Q_EMIT y_range_wanted(yAxis->pixelToCoord(box.bottom()), yAxis->pixelToCoord(box.top()));
  Q_EMIT x_range_wanted(low, high);
}

void ChartPlot::mousePressEvent(QMouseEvent* event) {
  const bool pans = event->button() == Qt::MiddleButton ||
                    (event->button() == Qt::LeftButton && event->modifiers().testFlag(Qt::ShiftModifier));
  const bool boxes = event->button() == Qt::LeftButton && !pans && axisRect()->rect().contains(event->pos());
  setSelectionRectMode(boxes ? QCP::srmCustom : QCP::srmNone);
  if (pans) pan_from_ = Pan{event->position(), xAxis->range()};
  QCustomPlot::mousePressEvent(event);
  event->ignore();  // the chart takes the focus
}

void ChartPlot::mouseMoveEvent(QMouseEvent* event) {
  if (pan_from_) {
    const double per_pixel = pan_from_->x.size() / std::max(1, axisRect()->width());
    const double shift = (pan_from_->at.x() - event->position().x()) * per_pixel;
    Q_EMIT x_range_wanted(pan_from_->x.lower + shift, pan_from_->x.upper + shift);
    return;
  }
  const bool inside = axisRect()->rect().contains(event->pos());
  Q_EMIT cursor_moved(inside ? xAxis->pixelToCoord(event->position().x())
                             : std::numeric_limits<double>::quiet_NaN());
  QCustomPlot::mouseMoveEvent(event);
}

void ChartPlot::mouseReleaseEvent(QMouseEvent* event) {
  if (pan_from_) {
    pan_from_.reset();
    Q_EMIT drag_ended();
  }
  QCustomPlot::mouseReleaseEvent(event);
}

void ChartPlot::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) Q_EMIT reset_wanted();
}

void ChartPlot::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  if ((wheel_needs_focus_ && !parentWidget()->hasFocus()) || turn.y() == 0) {
    event->ignore();
    return;
  }
  const double factor = std::pow(0.85, turn.y() / 120.0);
  const double at = xAxis->pixelToCoord(event->position().x());
  const QCPRange x = xAxis->range();
  Q_EMIT x_range_wanted(at - (at - x.lower) * factor, at + (x.upper - at) * factor);
  event->accept();
}

void ChartPlot::leaveEvent(QEvent* event) {
  Q_EMIT cursor_moved(std::numeric_limits<double>::quiet_NaN());
  QCustomPlot::leaveEvent(event);
}

}  // namespace lathe::ui
