#include "ui/forms/live_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>

#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

QString phase_label(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return LivePlot::tr("forward");
    case Phase::Recompute:
      return LivePlot::tr("recompute");
    case Phase::Backward:
      return LivePlot::tr("backward");
    case Phase::Update:
      return LivePlot::tr("update");
  }
  return {};
}

// Recomputation happens within the backward pass; the axis names the two halves only.
bool is_forward(Phase phase) {
  return phase == Phase::Forward;
}

}  // namespace

LivePlot::LivePlot(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  constexpr int kTallest = 36 * Theme::grid;
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMaximumHeight(kTallest);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Live bytes over the step"));
  connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void LivePlot::show_assessment(const Assessment& assessment) {
  live_ = assessment.live;
  names_ = assessment.op_names;
  persistent_ = assessment.estimate.persistent_bytes;
  allowed_ = assessment.budget - assessment.estimate.overhead_bytes;
  over_ = assessment.estimate.verdict == Verdict::DoesNotFit;
  peak_ = assessment.estimate.peak.op;
  hover_ = -1;
  // The limit is drawn when it is near; a card far larger would flatten the curve.
  const int64_t peak_bytes = std::max<int64_t>(1, assessment.estimate.peak.bytes);
  top_ = allowed_ > 0 && allowed_ < 3 * peak_bytes / 2 ? std::max(allowed_, peak_bytes) : peak_bytes;
  top_ += top_ / 12;
  peak_op_ = to_qt(assessment.estimate.peak_op);
  setAccessibleDescription(summary());
  update();
}

QString LivePlot::summary() const {
  if (live_.empty()) return {};
  return tr("%1 operations; the fullest is %2 with %3.")
      .arg(live_.size())
      .arg(peak_op_, bytes_text(live_[static_cast<size_t>(peak_)].bytes));
}

void LivePlot::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  update();
}

QRectF LivePlot::plot_area() const {
  const int label = fontMetrics().horizontalAdvance(QStringLiteral("99.9 GiB")) + 6;
  return QRectF(label, fontMetrics().height() / 2.0 + 2, width() - label - 2.0,
                height() - 1.5 * fontMetrics().height() - 8.0);
}

void LivePlot::paintEvent(QPaintEvent*) {
  if (live_.empty()) return;
  const Colors& colors = theme_.colors();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setOpacity(stale_ ? 0.45 : 1.0);
  const QRectF area = plot_area();
  const double step = area.width() / static_cast<double>(live_.size());
  const auto y = [&](int64_t bytes) {
    return area.bottom() - area.height() * static_cast<double>(bytes) / static_cast<double>(top_);
  };
  const auto x = [&](size_t op) { return area.left() + step * static_cast<double>(op); };

  // Half the axis and its top: enough to read sizes off.
  painter.setPen(QPen(colors.border, 1));
  for (const int64_t bytes : {int64_t{0}, top_ / 2})
    painter.drawLine(QPointF(area.left(), y(bytes)), QPointF(area.right(), y(bytes)));
  painter.setPen(colors.muted);
  const auto axis_label = [&](int64_t bytes, const QColor& color) {
    painter.setPen(color);
    painter.drawText(
        QRectF(0, y(bytes) - fontMetrics().height() / 2.0, area.left() - 6, fontMetrics().height()),
        Qt::AlignRight | Qt::AlignVCenter, bytes_text(bytes));
  };
  axis_label(0, colors.muted);
  axis_label(top_ / 2, colors.muted);

  QPainterPath curve;
  curve.moveTo(x(0), y(live_.front().bytes));
  for (size_t i = 0; i < live_.size(); ++i) {
    curve.lineTo(x(i), y(live_[i].bytes));
    curve.lineTo(x(i + 1), y(live_[i].bytes));
  }
  QPainterPath filled = curve;
  filled.lineTo(area.right(), area.bottom());
  filled.lineTo(area.left(), area.bottom());
  filled.closeSubpath();
  const QColor step_color = colors.role[static_cast<size_t>(Role::Activation)];
  QColor fill = step_color;
  fill.setAlphaF(0.28F);
  painter.save();
  painter.setClipRect(QRectF(area.topLeft(), QPointF(area.right(), y(persistent_))));
  painter.fillPath(filled, fill);
  painter.restore();
  QColor base = colors.role[static_cast<size_t>(Role::Weight)];
  base.setAlphaF(0.35F);
  painter.fillRect(QRectF(QPointF(area.left(), y(persistent_)), area.bottomRight()), base);
  painter.setPen(QPen(step_color, 1.4));
  painter.drawPath(curve);

  if (allowed_ > 0 && allowed_ <= top_) {
    painter.setPen(QPen(over_ ? colors.bad : colors.muted, 1.2, Qt::DashLine));
    painter.drawLine(QPointF(area.left(), y(allowed_)), QPointF(area.right(), y(allowed_)));
    axis_label(allowed_, over_ ? colors.bad : colors.muted);
  }
  // Where forward ends and backward begins.
  const auto turn =
      std::find_if(live_.begin(), live_.end(), [](const LivePoint& p) { return !is_forward(p.phase); });
  const auto turn_op = static_cast<size_t>(turn - live_.begin());
  const QRectF below(area.left(), area.bottom() + 2, area.width(), fontMetrics().height() + 2);
  painter.setPen(colors.muted);
  if (turn_op > 0) {
    painter.drawText(QRectF(below.left(), below.top(), x(turn_op) - below.left(), below.height()),
                     Qt::AlignHCenter, phase_label(Phase::Forward));
  }
  if (turn != live_.end()) {
    painter.drawText(QRectF(x(turn_op), below.top(), below.right() - x(turn_op), below.height()),
                     Qt::AlignHCenter,
                     phase_label(turn->phase == Phase::Update ? Phase::Update : Phase::Backward));
    painter.setPen(QPen(colors.border, 1, Qt::DotLine));
    if (turn_op > 0) painter.drawLine(QPointF(x(turn_op), area.top()), QPointF(x(turn_op), area.bottom()));
  }
  // The peak, named beneath the plot by the panel; a ring here.
  if (peak_ >= 0 && static_cast<size_t>(peak_) < live_.size()) {
    painter.setPen(QPen(over_ ? colors.bad : colors.text, 1.6));
    painter.setBrush(colors.surface);
    painter.drawEllipse(
        QPointF(x(static_cast<size_t>(peak_)) + step / 2, y(live_[static_cast<size_t>(peak_)].bytes)), 4, 4);
  }
  if (hover_ >= 0) {
    painter.setPen(QPen(colors.accent, 1));
    const double at = x(static_cast<size_t>(hover_)) + step / 2;
    painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()));
  }
}

void LivePlot::mouseMoveEvent(QMouseEvent* event) {
  const QRectF area = plot_area();
  if (live_.empty() || area.width() <= 0) return;
  const double fraction = (event->position().x() - area.left()) / area.width();
  const int op = static_cast<int>(fraction * static_cast<double>(live_.size()));
  hover_ = fraction < 0 || op >= static_cast<int>(live_.size()) ? -1 : op;
  if (hover_ >= 0) QToolTip::showText(event->globalPosition().toPoint(), tip_of(hover_), this);
  update();
}

QString LivePlot::tip_of(int op) const {
  const auto index = static_cast<size_t>(op);
  return tr("%1<br><b>%2</b> live, %3, operation %4 of %5")
      .arg(to_qt(names_[index]).toHtmlEscaped(), bytes_text(live_[index].bytes),
           phase_label(live_[index].phase))
      .arg(op + 1)
      .arg(live_.size());
}

void LivePlot::select(int op) {
  if (live_.empty()) return;
  hover_ = std::clamp(op, 0, static_cast<int>(live_.size()) - 1);
  const QRectF area = plot_area();
  const double x = area.left() + area.width() * (hover_ + 0.5) / static_cast<double>(live_.size());
  show_tip_at(*this, QPoint(static_cast<int>(x), static_cast<int>(area.bottom())), tip_of(hover_));
  update();
}

void LivePlot::keyPressEvent(QKeyEvent* event) {
  const int at = hover_ < 0 ? peak_ : hover_, page = std::max(1, static_cast<int>(live_.size()) / 20);
  switch (event->key()) {
    case Qt::Key_Left:
      return select(at - 1);
    case Qt::Key_Right:
      return select(at + 1);
    case Qt::Key_PageUp:
      return select(at - page);
    case Qt::Key_PageDown:
      return select(at + page);
    case Qt::Key_Home:
      return select(0);
    case Qt::Key_End:
      return select(static_cast<int>(live_.size()) - 1);
    default:
      QWidget::keyPressEvent(event);
  }
}

// The keyboard arrives at the peak.
void LivePlot::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason) select(peak_);
}

void LivePlot::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  QToolTip::hideText();
  setAccessibleDescription(summary());
  hover_ = -1;
  update();
}

void LivePlot::leaveEvent(QEvent*) {
  hover_ = -1;
  update();
}

}  // namespace lathe::ui
