#include "ui/forms/memory_bar.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>

#include "ui/forms/assessment.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr int kBarHeight = 28;
constexpr int kMark = 16;  // of a legend's line, with its gap
constexpr double kStaleOpacity = 0.45;

QString role_label(Role role) {
  switch (role) {
    case Role::Weight:
      return MemoryBar::tr("Weights");
    case Role::Master:
      return MemoryBar::tr("Master weights");
    case Role::Gradient:
      return MemoryBar::tr("Gradients");
    case Role::OptimizerState:
      return MemoryBar::tr("Optimizer");
    case Role::Activation:
      return MemoryBar::tr("Activations");
    case Role::Scratch:
      return MemoryBar::tr("Scratch");
    case Role::Logits:
      return MemoryBar::tr("Logits");
    case Role::Batch:
      return MemoryBar::tr("Batch");
    case Role::Metric:
      return MemoryBar::tr("Metrics");
    case Role::KvCache:
      return MemoryBar::tr("KV cache");
    case Role::Table:
      return MemoryBar::tr("RoPE tables");
  }
  return {};
}

QString role_explanation(Role role) {
  switch (role) {
    case Role::Weight:
      return MemoryBar::tr("What the forward pass reads.");
    case Role::Master:
      return MemoryBar::tr("The bits that BF16 weights round away.");
    case Role::Gradient:
      return MemoryBar::tr("Summed over the micro-steps of an update.");
    case Role::OptimizerState:
      return MemoryBar::tr("AdamW's two moments and their scales.");
    case Role::Activation:
      return MemoryBar::tr("Kept from forward to backward; recomputing saves them.");
    case Role::Scratch:
      return MemoryBar::tr("Lives between neighbouring operations; workspaces of libraries, too.");
    case Role::Logits:
      return MemoryBar::tr("One loss chunk's logits; smaller chunks save them.");
    case Role::Batch:
      return MemoryBar::tr("Tokens, targets and scalars of a step.");
    case Role::Metric:
      return MemoryBar::tr("Losses and norms on their way to the host.");
    case Role::KvCache:
      return MemoryBar::tr("Keys and values while samples are generated.");
    case Role::Table:
      return MemoryBar::tr("Cosines and sines of the rotary embedding.");
  }
  return {};
}

QString segment_tip(const MemorySegment& segment) {
  return QStringLiteral("<b>%1: %2</b><br>%3")
      .arg(segment.name, bytes_text(segment.bytes), segment.explanation);
}

}  // namespace

std::vector<MemorySegment> memory_segments(const Assessment& assessment, const Theme& theme) {
  const Colors& colors = theme.colors();
  const Estimate& estimate = assessment.estimate;
  std::vector<MemorySegment> segments;
  const auto add = [&](const QString& name, const QString& explanation, int64_t bytes, const QColor& color) {
    if (bytes > 0) segments.push_back({name, explanation, bytes, color});
  };
  add(MemoryBar::tr("Others"), MemoryBar::tr("Other programs: in use on this device when it was last read."),
      assessment.device.others_bytes, colors.others);
  add(MemoryBar::tr("Driver, libraries"),
      estimate.overhead_measured
          ? MemoryBar::tr(
                "Context and kernels beside the arena, measured on this device, and a small reserve.")
          : MemoryBar::tr("Context and kernels beside the arena: assumed, not yet measured on this device."),
      estimate.overhead_bytes, colors.overhead);
  for (int role = 0; role < kRoleCount; ++role) {
    const auto index = static_cast<size_t>(role);
    add(role_label(static_cast<Role>(role)), role_explanation(static_cast<Role>(role)),
        estimate.role_bytes[index], colors.role[index]);
  }
  add(MemoryBar::tr("Gaps"), MemoryBar::tr("Between buffers of the plan."), estimate.fragmentation_bytes,
      colors.muted);
  return segments;
}

MemoryBar::MemoryBar(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Memory by role"));
  connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize MemoryBar::sizeHint() const {
  return {320, kBarHeight + fontMetrics().height() + 6};
}

QSize MemoryBar::minimumSizeHint() const {
  return {160, kBarHeight + fontMetrics().height() + 6};
}

void MemoryBar::show_assessment(const Assessment& assessment) {
  segments_ = memory_segments(assessment, theme_);
  total_ = assessment.device.total_bytes;
  used_ = assessment.device.others_bytes + assessment.estimate.process_bytes();
  // What may not be used at the end of the device: the margin, or all above a stated budget.
  margin_ = std::max<int64_t>(0, total_ - assessment.device.others_bytes - assessment.budget);
  over_ = assessment.estimate.verdict == Verdict::DoesNotFit;
  selected_ = std::min(selected_, static_cast<int>(segments_.size()));
  setAccessibleDescription(summary());
  update();
}

QString MemoryBar::summary() const {
  QStringList parts;
  for (const MemorySegment& segment : segments_)
    parts << segment.name + QLatin1Char(' ') + bytes_text(segment.bytes);
  return tr("%1 of %2: %3").arg(bytes_text(used_), bytes_text(total_), parts.join(QStringLiteral(", ")));
}

void MemoryBar::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  update();
}

double MemoryBar::x_of(int64_t bytes) const {
  // The bar shows the whole device, and all of what is asked for when that is more.
  const auto span = static_cast<double>(std::max<int64_t>({total_, used_ + used_ / 50, 1}));
  return static_cast<double>(width() - 1) * static_cast<double>(bytes) / span;
}

void MemoryBar::paintEvent(QPaintEvent*) {
  if (segments_.empty()) return;
  const Colors& colors = theme_.colors();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setOpacity(stale_ ? kStaleOpacity : 1.0);
  const double edge = x_of(total_);
  QPainterPath frame;
  frame.addRoundedRect(QRectF(0.5, 0.5, width() - 1.0, kBarHeight - 1.0), 4, 4);
  painter.save();
  painter.setClipPath(frame);
  painter.fillRect(QRectF(0, 0, edge, kBarHeight), colors.free_memory);
  int64_t at = 0;
  for (const MemorySegment& segment : segments_) {
    const double from = x_of(at), to = x_of(at + segment.bytes);
    painter.fillRect(QRectF(from, 0, to - from, kBarHeight), segment.color);
    // A hairline keeps neighbours apart without relying on colour.
    if (to - from > 3) painter.fillRect(QRectF(to - 1, 0, 1, kBarHeight), colors.surface);
    at += segment.bytes;
  }
  const double allowed = x_of(total_ - margin_);
  painter.fillRect(QRectF(allowed, 0, edge - allowed, kBarHeight),
                   QBrush(over_ ? colors.bad : colors.muted, Qt::BDiagPattern));
  if (used_ > total_) {
    painter.fillRect(QRectF(edge, 0, width() - edge, kBarHeight), QBrush(colors.bad, Qt::BDiagPattern));
  }
  painter.restore();
  painter.setPen(QPen(colors.border, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(frame);
  if (hasFocus()) {
    int64_t from = 0;
    for (int i = 0; i < selected_; ++i) from += segments_[static_cast<size_t>(i)].bytes;
    const bool free = selected_ == static_cast<int>(segments_.size());
    const int64_t to = free ? std::max(total_, from) : from + segments_[static_cast<size_t>(selected_)].bytes;
    painter.setPen(QPen(colors.text, 2));
    painter.drawRect(QRectF(QPointF(x_of(from), 1), QPointF(x_of(to), kBarHeight - 1)));
  }
  if (used_ > total_) {
    painter.setPen(QPen(colors.bad, 2));
    painter.drawLine(QPointF(edge, 0), QPointF(edge, kBarHeight));
  }
  // Scale beneath: what is used at its end, the device at its own.
  painter.setPen(over_ ? colors.bad : colors.text);
  const QRectF line(0, kBarHeight + 4, width(), fontMetrics().height() + 2);
  painter.drawText(line, Qt::AlignLeft, tr("%1 used at the peak").arg(bytes_text(used_)));
  painter.setPen(colors.muted);
  painter.drawText(line, Qt::AlignRight,
                   used_ > total_ ? tr("device ends at %1").arg(bytes_text(total_)) : bytes_text(total_));
}

QString MemoryBar::tip_of(int segment) const {
  if (segment < static_cast<int>(segments_.size()))
    return segment_tip(segments_[static_cast<size_t>(segment)]);
  return tr("Free: %1, of which %2 stay for other programs.")
      .arg(bytes_text(std::max<int64_t>(0, total_ - used_)), bytes_text(margin_));
}

bool MemoryBar::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !segments_.empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    int64_t at = 0;
    int segment = 0;
    for (; segment < static_cast<int>(segments_.size()); ++segment) {
      at += segments_[static_cast<size_t>(segment)].bytes;
      if (help->pos().x() <= x_of(at)) break;
    }
    QToolTip::showText(help->globalPos(), tip_of(segment), this);
    return true;
  }
  return QWidget::event(event);
}

void MemoryBar::select(int segment) {
  if (segments_.empty()) return;
  selected_ = std::clamp(segment, 0, static_cast<int>(segments_.size()));
  int64_t from = 0;
  for (int i = 0; i < selected_; ++i) from += segments_[static_cast<size_t>(i)].bytes;
  show_tip_at(*this, QPoint(static_cast<int>(x_of(from)), kBarHeight), tip_of(selected_));
  update();
}

void MemoryBar::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return select(selected_ - 1);
    case Qt::Key_Right:
      return select(selected_ + 1);
    case Qt::Key_Home:
      return select(0);
    case Qt::Key_End:
      return select(static_cast<int>(segments_.size()));
    default:
      QWidget::keyPressEvent(event);
  }
}

void MemoryBar::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason) select(selected_);
}

void MemoryBar::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  QToolTip::hideText();
  setAccessibleDescription(summary());
}

MemoryLegend::MemoryLegend(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Memory by role, as a list"));
  connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

int MemoryLegend::line_height() const {
  return fontMetrics().height() + 4;
}

int MemoryLegend::columns() const {
  int widest = 0;
  for (const MemorySegment& segment : segments_)
    widest = std::max(widest,
                      fontMetrics().horizontalAdvance(segment.name + bytes_text(segment.bytes)) + kMark + 8);
  return 2 * widest + 2 * Theme::grid <= width() ? 2 : 1;
}

QSize MemoryLegend::sizeHint() const {
  const int count = std::max(static_cast<int>(segments_.size()), 6), across = columns();
  return {320, (count + across - 1) / across * line_height()};
}

// As tall as its lines at this width.
void MemoryLegend::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  updateGeometry();
}

QSize MemoryLegend::minimumSizeHint() const {
  return {200, sizeHint().height()};
}

void MemoryLegend::show_assessment(const Assessment& assessment) {
  segments_ = memory_segments(assessment, theme_);
  // Below a thousandth nobody looks: those go together.
  const int64_t least = assessment.estimate.process_bytes() / 1000;
  MemorySegment small{tr("Small parts"), {}, 0, theme_.colors().muted};
  QStringList names;
  std::erase_if(segments_, [&](const MemorySegment& segment) {
    if (segment.bytes >= least) return false;
    small.bytes += segment.bytes;
    names << tr("%1: %2").arg(segment.name, bytes_text(segment.bytes));
    return true;
  });
  if (small.bytes > 0) {
    small.explanation = names.join(QStringLiteral("<br>"));
    segments_.push_back(small);
  }
  QStringList parts;
  for (const MemorySegment& segment : segments_)
    parts << segment.name + QLatin1Char(' ') + bytes_text(segment.bytes);
  setAccessibleDescription(parts.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

void MemoryLegend::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  update();
}

void MemoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setOpacity(stale_ ? kStaleOpacity : 1.0);
  const Colors& colors = theme_.colors();
  const int across = columns(), height = line_height();
  const int column = (width() - (across - 1) * 2 * Theme::grid) / across;
  const int rows = (static_cast<int>(segments_.size()) + across - 1) / across;
  bool elided = false;
  for (int i = 0; i < static_cast<int>(segments_.size()); ++i) {
    const MemorySegment& segment = segments_[static_cast<size_t>(i)];
    const QRect cell(i / rows * (column + 2 * Theme::grid), i % rows * height, column, height);
    painter.setPen(Qt::NoPen);
    painter.setBrush(segment.color);
    painter.drawRoundedRect(QRectF(cell.x(), cell.y() + (height - 10) / 2.0, 10, 10), 2, 2);
    painter.setPen(colors.muted);
    const QString value = bytes_text(segment.bytes);
    const int value_width = fontMetrics().horizontalAdvance(value);
    const QRect place = cell.adjusted(kMark, 0, -value_width - 4, 0);
    const QString name = fontMetrics().elidedText(segment.name, Qt::ElideRight, place.width());
    elided |= name != segment.name;
    painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft, name);
    painter.setPen(colors.text);
    painter.drawText(cell, Qt::AlignVCenter | Qt::AlignRight, value);
  }
  set_elided(*this, elided);
}

bool MemoryLegend::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !segments_.empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int across = columns(), rows = (static_cast<int>(segments_.size()) + across - 1) / across;
    const int index = help->pos().x() * across / std::max(1, width()) * rows +
                      std::min(rows - 1, help->pos().y() / line_height());
    if (index < static_cast<int>(segments_.size())) {
      QToolTip::showText(help->globalPos(), segment_tip(segments_[static_cast<size_t>(index)]), this);
      return true;
    }
  }
  return QWidget::event(event);
}

}  // namespace lathe::ui
