// What a chart paints besides curves: the crosshair with its readout, marks where values were NaN or
// infinite, and the text of an empty chart. Only chart*.cpp in this folder may include it.
#pragma once

#include "ui/charts/qcustomplot_header.h"

#include <QColor>
#include <QString>
#include <vector>

#include "ui/charts/chart_types.h"

namespace lathe::ui {

// Base of items that are drawn all over the axis rect and can't be clicked.
class PlotItem : public QCPAbstractItem {
 public:
  explicit PlotItem(QCustomPlot* plot);
  double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

 protected:
  QRect area() const { return parentPlot()->axisRect()->rect(); }
  double x_pixel(double x) const { return parentPlot()->xAxis->coordToPixel(x); }
  double y_pixel(double y) const { return parentPlot()->yAxis->coordToPixel(y); }
};

struct ReadoutLine {
  QString name;
  QString value;
  QColor color;
  double x = 0, y = 0;  // where the dot goes; NaN y: none
};

class CrosshairItem : public PlotItem {
 public:
  using PlotItem::PlotItem;
  double x = 0;
  QString heading;                 // "Step 1,200"
  std::vector<ReadoutLine> lines;  // empty: only the line
  bool with_readout = false;
  ChartColors colors;

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void draw_readout(QCPPainter* painter, double at);
};

class BadMarksItem : public PlotItem {
 public:
  using PlotItem::PlotItem;
  std::vector<double> x;
  QColor color;

 protected:
  void draw(QCPPainter* painter) override;
};

class EmptyTextItem : public PlotItem {
 public:
  using PlotItem::PlotItem;
  QString text;
  QColor color;

 protected:
  void draw(QCPPainter* painter) override;
};

}  // namespace lathe::ui
