// Axis ticks at round numbers of the quantity shown: GiB for bytes, minutes and hours for time, dates for
// wall time; and a logarithmic axis that also labels ranges shorter than a decade.
#pragma once

#include "ui/charts/qcustomplot_header.h"

#include "ui/charts/chart_types.h"

namespace lathe::ui {

class QuantityTicker : public QCPAxisTicker {
 public:
  explicit QuantityTicker(Quantity quantity);

 protected:
  double getTickStep(const QCPRange& range) override;
  int getSubTickCount(double step) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  Quantity quantity_;
  double step_ = 1;  // of the last ticks: labels show as many digits as tell them apart
  double top_ = 0;   // the largest of them: all labels of an axis are in its unit
};

class LogTicker : public QCPAxisTicker {
 public:
  explicit LogTicker(Quantity quantity) : quantity_(quantity) {}

 protected:
  QVector<double> createTickVector(double step, const QCPRange& range) override;
  int getSubTickCount(double) override { return 0; }
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  Quantity quantity_;
};

}  // namespace lathe::ui
