// The inside of a chart: widgets, series with their graphs, and what is to be painted. Included by chart.cpp
// and chart_paint.cpp only.
#pragma once

#include <QElapsedTimer>
#include <QLabel>
#include <QTimer>
#include <QToolButton>
#include <memory>
#include <vector>

#include "ui/charts/chart.h"
#include "ui/charts/chart_legend.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/plot_items.h"
#include "ui/charts/series_data.h"

namespace lathe::ui {

struct ChartSeries {
  QString key;
  SeriesStyle style;
  std::shared_ptr<SeriesData> data = std::make_shared<SeriesData>();
  SeriesView view;
  bool hidden = false;
  QCPGraph* raw = nullptr;     // owned by the plot
  QCPGraph* smooth = nullptr;  // owned by the plot
};

class Chart::Impl {
 public:
  Impl(Chart* owner, ChartInfo chart_info);

  ChartSeries* find(const QString& key);
  ChartSeries& require(const QString& key);
  void changed();                                  // to be painted soon
  double weight(const ChartSeries& series) const;  // of its moving average; 0: none
  void restyle(ChartSeries& series);
  void restyle_all();
  void rebuild_legend();  // when painted, as many series change at once
  void update_title();
  void describe();  // accessible text, at most once a second
  void set_tickers();

  void decimate(int columns, int smooth_columns);
  void fit_y();
  void paint();
  void paint_crosshair();
  // The plot dressed for a picture while it lives: title, legend, axis labels, finer decimation.
  class Dressed;

  Chart* chart;
  ChartInfo info;
  ChartAxis axis;
  ChartColors colors;
  std::vector<std::unique_ptr<ChartSeries>> series;
  std::function<bool(const QString&)> hidden_at_first;
  double smoothing = 0;
  bool log_y = false;
  bool clip = false;
  std::optional<bool> legend_wanted;
  bool latest_shown = true;
  std::optional<Chart::Range> manual_y;
  double crosshair_x = std::numeric_limits<double>::quiet_NaN();
  bool crosshair_readout = false;
  bool dirty = false;
  bool legend_dirty = false;

  QLabel* title = nullptr;
  QLabel* unit = nullptr;
  QLabel* latest = nullptr;
  QToolButton* menu_button = nullptr;
  QMenu* menu = nullptr;
  QAction* log_action = nullptr;
  ChartLegend* legend = nullptr;
  ChartPlot* plot = nullptr;
  CrosshairItem* crosshair = nullptr;
  BadMarksItem* bad_marks = nullptr;
  EmptyTextItem* empty = nullptr;
  QTimer frame;
  // Ranges that follow one another within a moment are a movement: it is painted quickly, and finely when it
  // has come to rest.
  bool hurried = false;
  QElapsedTimer since_range;
  qint64 paint_ms = 0;  // the last painting took
  QTimer rest;
  QElapsedTimer described;
};

}  // namespace lathe::ui
