#include "ui/charts/plot_items.h"

#include <algorithm>
#include <cmath>

namespace lathe::ui {

PlotItem::PlotItem(QCustomPlot* plot) : QCPAbstractItem(plot) {
  setSelectable(false);
  setClipToAxisRect(true);
}

void CrosshairItem::draw(QCPPainter* painter) {
  if (std::isnan(x)) return;
  const double at = x_pixel(x);
  const QRect rect = area();
  if (at < rect.left() || at > rect.right()) return;
  painter->setPen(QPen(colors.muted, 1, Qt::DashLine));
  painter->drawLine(QLineF(at, rect.top(), at, rect.bottom()));
  painter->setAntialiasing(true);
  for (const ReadoutLine& line : lines) {
    if (!std::isfinite(line.y)) continue;
    painter->setPen(QPen(colors.background, 1.5));
    painter->setBrush(line.color);
    painter->drawEllipse(QPointF(x_pixel(line.x), y_pixel(line.y)), 4, 4);
  }
  if (with_readout) draw_readout(painter, at);
}

void CrosshairItem::draw_readout(QCPPainter* painter, double at) {
  constexpr int pad = 6, swatch = 8, gap = 12;
  const QFontMetrics metrics(painter->font());
  int names = metrics.horizontalAdvance(heading), values = 0;
  for (const ReadoutLine& line : lines) {
    names = std::max(names, swatch + pad + metrics.horizontalAdvance(line.name));
    values = std::max(values, metrics.horizontalAdvance(line.value));
  }
  const int row = metrics.height() + 2;
  const QRect rect = area();
  const int width = names + (values > 0 ? gap + values : 0) + 2 * pad;
  QRectF box(at + gap, rect.top() + pad, width, row * (static_cast<int>(lines.size()) + 1) + 2 * pad - 2);
  if (box.right() > rect.right()) box.moveRight(at - gap);
  if (box.left() < rect.left()) box.moveLeft(rect.left());
  QColor background = colors.background;
  background.setAlpha(235);
  painter->setPen(QPen(colors.grid, 1));
  painter->setBrush(background);
  painter->drawRoundedRect(box, 4, 4);
  double top = box.top() + pad;
  const auto text = [&](double left, double space, int flags, const QColor& color, const QString& words) {
    painter->setPen(color);
    painter->drawText(QRectF(left, top, space, row), flags | Qt::AlignVCenter, words);
  };
  text(box.left() + pad, width - 2 * pad, Qt::AlignLeft, colors.muted, heading);
  for (const ReadoutLine& line : lines) {
    top += row;
    painter->setPen(Qt::NoPen);
    painter->setBrush(line.color);
    painter->drawEllipse(QRectF(box.left() + pad, top + (row - swatch) / 2.0, swatch, swatch));
    text(box.left() + 2 * pad + swatch, names, Qt::AlignLeft, colors.text, line.name);
    text(box.left() + pad, width - 2 * pad, Qt::AlignRight, colors.text, line.value);
  }
}

// A small cross on the bottom edge, where the curve has its gap.
void BadMarksItem::draw(QCPPainter* painter) {
  constexpr double arm = 3;
  const QRect rect = area();
  const double y = rect.bottom() - 2 * arm;
  painter->setAntialiasing(true);
  painter->setPen(QPen(color, 1.6));
  double previous = -1e9;
  for (const double at : x) {
    const double pixel = x_pixel(at);
    if (pixel < rect.left() || pixel > rect.right() || pixel - previous < arm) continue;
    previous = pixel;
    painter->drawLine(QLineF(pixel - arm, y - arm, pixel + arm, y + arm));
    painter->drawLine(QLineF(pixel - arm, y + arm, pixel + arm, y - arm));
  }
}

void EmptyTextItem::draw(QCPPainter* painter) {
  if (text.isEmpty()) return;
  painter->setPen(color);
  painter->drawText(area(), static_cast<int>(Qt::AlignCenter) | Qt::TextWordWrap, text);
}

}  // namespace lathe::ui
