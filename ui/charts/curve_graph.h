// A graph that strokes its line in short pieces. Qt strokes a polyline as one path and sorts its edges line
// by line of the picture, which takes time squared in the points of a noisy curve; pieces of it take none.
// Only chart*.cpp in this folder may include it.
#pragma once

#include "ui/charts/qcustomplot_header.h"

namespace lathe::ui {

class CurveGraph : public QCPGraph {
 public:
  using QCPGraph::QCPGraph;

 protected:
  void drawLinePlot(QCPPainter* painter, const QVector<QPointF>& lines) const override;
};

}  // namespace lathe::ui
