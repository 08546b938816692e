#include "ui/pages/runs_delegate.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/history/run_types.h"
#include "ui/models/runs_model.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

QColor status_color(const Colors& colors, RunStatus status) {
  switch (status) {
    case RunStatus::Preparing:
    case RunStatus::Running:
      return colors.accent;
    case RunStatus::Paused:
    case RunStatus::Stopping:
    case RunStatus::Interrupted:
      return colors.warning;
    case RunStatus::Failed:
      return colors.bad;
    case RunStatus::Finished:
      return colors.good;
    case RunStatus::Stopped:
      return colors.muted;
  }
  return colors.muted;
}

}  // namespace

void SparklineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);  // background and selection
  const auto points = index.data(RunsModel::kSparklineRole).value<QList<float>>();
  std::vector<float> finite;
  for (const float point : points) {
    if (std::isfinite(point)) finite.push_back(point);
  }
  if (finite.empty()) return;
  // The first updates are far above the rest; the scale follows the middle of the curve.
  std::ranges::sort(finite);
  const float low = finite.front();
  const float high =
      std::max(finite[static_cast<size_t>(0.95 * static_cast<double>(finite.size() - 1))], low + 1e-6F);
  const QRectF area = QRectF(option.rect).adjusted(4, 4, -4, -4);
  const auto count = static_cast<double>(std::max<qsizetype>(1, points.size() - 1));
  const auto place = [&](qsizetype i) {
    const double height = std::clamp<double>((points[i] - low) / (high - low), 0, 1);
    return QPointF(area.left() + area.width() * static_cast<double>(i) / count,
                   area.bottom() - area.height() * height);
  };
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(selected ? option.palette.highlightedText().color() : theme_.colors().series[0], 1.4));
  QPainterPath path;
  bool drawing = false;
  for (qsizetype i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i])) {
      painter->setBrush(theme_.colors().bad);
      drawing = false;
      continue;
    }
    drawing ? path.lineTo(place(i)) : path.moveTo(place(i));
    drawing = true;
  }
  painter->setBrush(Qt::NoBrush);
  painter->drawPath(path);
  painter->setPen(QPen(theme_.colors().bad, 1.4));
  for (qsizetype i = 0; i < points.size(); ++i) {
    if (std::isfinite(points[i])) continue;
    const double x = area.left() + area.width() * static_cast<double>(i) / count;
    painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  }
  painter->restore();
}

void TickDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  QStyleOptionViewItem item(option);
  initStyleOption(&item, index);
  const QStyle* style = option.widget->style();
  const QRectF box =
      QRectF(style->subElementRect(QStyle::SE_ItemViewItemCheckIndicator, &item, option.widget));
  const bool ticked = item.checkState == Qt::Checked;
  const Colors& colors = theme_.colors();
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->fillRect(box, option.state.testFlag(QStyle::State_Selected)
                             ? option.palette.color(QPalette::Highlight)
                             : colors.surface);
  painter->setPen(QPen(ticked ? colors.accent : colors.muted, 1));
  painter->setBrush(ticked ? colors.accent : colors.surface);
  const QRectF square = box.adjusted(0.5, 0.5, -0.5, -0.5);
  painter->drawRoundedRect(square, 3, 3);
  if (ticked) {
    painter->setPen(QPen(colors.accent_text, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const auto at = [&](double x, double y) {
      return QPointF(square.left() + square.width() * x, square.top() + square.height() * y);
    };
    painter->drawPolyline(QPolygonF({at(0.22, 0.52), at(0.42, 0.74), at(0.78, 0.28)}));
  }
  painter->restore();
}

void StatusDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  constexpr int size = 8;
  const qreal ratio = option->widget != nullptr ? option->widget->devicePixelRatioF() : 1;
  QPixmap dot(QSize(size, size) * ratio);
  dot.setDevicePixelRatio(ratio);
  dot.fill(Qt::transparent);
  QPainter painter(&dot);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(
      status_color(theme_.colors(), static_cast<RunStatus>(index.data(RunsModel::kStatusRole).toInt())));
  painter.drawEllipse(0, 0, size, size);
  painter.end();
  option->icon = QIcon(dot);
  option->decorationSize = QSize(size, size);
  option->features |= QStyleOptionViewItem::HasDecoration;
}

}  // namespace lathe::ui
