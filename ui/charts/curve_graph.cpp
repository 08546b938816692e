#include "ui/charts/curve_graph.h"

#include <algorithm>
#include <cmath>

namespace lathe::ui {

void CurveGraph::drawLinePlot(QCPPainter* painter, const QVector<QPointF>& lines) const {
  constexpr qsizetype piece = 24;  // segments
  if (painter->pen().style() == Qt::NoPen || painter->pen().color().alpha() == 0) return;
  applyDefaultAntialiasingHint(painter);
  painter->setBrush(Qt::NoBrush);
  const auto broken = [&](qsizetype i) { return std::isnan(lines[i].x()) || std::isnan(lines[i].y()); };
  for (qsizetype first = 0; first < lines.size();) {
    if (broken(first)) {
      ++first;
      continue;
    }
    qsizetype last = first;  // of the unbroken part, at most a piece long
    while (last + 1 < lines.size() && last - first < piece && !broken(last + 1)) ++last;
    if (last > first) painter->drawPolyline(lines.constData() + first, static_cast<int>(last - first + 1));
    // The next piece begins where this one ended.
    first = last + 1 < lines.size() && !broken(last + 1) && last > first ? last : last + 1;
  }
}

}  // namespace lathe::ui
