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

void NameDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  if (!index.data(RunsModel::kBaselineRole).toBool()) {
    CellDelegate::paint(painter, option, index);
    return;
  }
  constexpr int side = 14, gap = 6;
  QStyleOptionViewItem whole(option), words(option);
  initStyleOption(&whole, index);
  option.widget->style()->drawPrimitive(QStyle::PE_PanelItemViewItem, &whole, painter, option.widget);
  words.rect.adjust(0, 0, -side - gap, 0);
  CellDelegate::paint(painter, words, index);
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  theme_.icon(QStringLiteral("pin"))
      .paint(painter,
             QRect(option.rect.right() - side - gap, option.rect.center().y() - side / 2, side, side),
             Qt::AlignCenter, selected ? QIcon::Selected : QIcon::Normal);
}

void StatusDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  CellDelegate::initStyleOption(option, index);
  const auto status = static_cast<RunStatus>(index.data(RunsModel::kStatusRole).toInt());
  set_mark(option, status_color(theme_.colors(), status), 8, 4);
}

}  // namespace lathe::ui
