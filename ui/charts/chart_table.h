// The numbers of a chart as a table: every point, for who can't see the curves or wants the digits.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "ui/charts/chart_types.h"

class QWidget;

namespace lathe::ui {

class Chart;
class SeriesData;

// A copy of one series as it was: x, value, moving average.
class SeriesTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit SeriesTableModel(QObject* parent = nullptr);

  void set_series(const ChartInfo& info, const ChartAxis& axis, const SeriesData* data);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  ChartInfo info_;
  ChartAxis axis_;
  std::vector<double> x_, y_, smooth_;
};

// Opens a window with the summary, a choice of series and the table.
void show_chart_table(const Chart& chart, const ChartAxis& axis, QWidget* parent);

}  // namespace lathe::ui
