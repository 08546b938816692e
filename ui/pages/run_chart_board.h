// A board of linked charts with its toolbar: which are shown, their axis and settings, pictures of them. The
// Run page fills one with the metrics of a run, the Runs page one with several runs.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "core/history/metrics.h"
#include "ui/charts/chart_types.h"

class QGridLayout;
class QMenu;
class QScrollArea;
class QToolButton;

namespace lathe::ui {

struct AppContext;
class Chart;
class ChartGroup;
class ChartToolbar;

struct ChartSpec {
  ChartInfo info;
  bool shown = true;  // unless the user chose otherwise
  bool wide = false;  // a row of its own
};

class ChartBoard : public QWidget {
  Q_OBJECT
 public:
  // State is kept in the preferences under `state_key`.
  ChartBoard(AppContext& context, const QString& state_key, std::vector<ChartSpec> specs,
             QWidget* parent = nullptr);
  ~ChartBoard() override;

  // Null while the chart isn't shown.
  Chart* chart(const QString& key) const;
  QStringList shown() const;  // keys, in order
  std::vector<Chart*> charts() const;
  ChartGroup& group() { return *group_; }
  ChartToolbar& toolbar() { return *toolbar_; }
  Axis axis() const;
  void clear();  // removes all series

 Q_SIGNALS:
  void axis_changed();
  void shown_changed();  // new charts are empty
  void csv_wanted(const QString& chart);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void make_charts();
  void arrange();
  void apply_axis();
  void apply_theme();
  void save_state();
  void export_pictures(Chart* only);

  AppContext& context_;
  QString state_key_;
  std::vector<ChartSpec> specs_;
  std::vector<Chart*> charts_;  // as specs_; null: not shown
  ChartGroup* group_;
  ChartToolbar* toolbar_;
  QScrollArea* scroll_;
  QWidget* board_;
  QGridLayout* grid_;
  QMenu* menu_;
  int columns_ = 0;
  bool restoring_ = false;
};

// Colours of a chart from the theme.
ChartColors chart_colors(const AppContext& context);
// A chart of one metric of the catalogue.
ChartSpec metric_chart(const std::string& metric, bool shown, bool wide = false);

}  // namespace lathe::ui
