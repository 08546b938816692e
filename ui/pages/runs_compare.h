// The runs that are ticked, side by side: their curves over one another, three outcomes, and the settings
// that differ.
#pragma once

#include <QWidget>
#include <map>
#include <memory>
#include <vector>

#include "ui/charts/run_colors.h"
#include "ui/latest_job.h"
#include "ui/models/catalogue_feed.h"
#include "ui/models/comparison_models.h"
#include "ui/models/run_feed.h"

class QLabel;
class QTabWidget;
class QTableView;
class QTimer;

namespace lathe::ui {

struct AppContext;
class Chart;
class ChartBoard;

class RunsCompare : public QWidget {
  Q_OBJECT
 public:
  explicit RunsCompare(AppContext& context, QWidget* parent = nullptr);
  ~RunsCompare() override;

  // At most ten; the colours follow. Names come from the list.
  void set_runs(const std::vector<ListedRun>& runs);
  void set_baseline(const QString& id);  // measured against; the first run where it isn't among them
  void set_active(bool active);
  QColor color_of(const QString& id) const;
  ChartBoard& board() { return *board_; }
  OutcomesModel& outcomes() { return *outcomes_; }
  SettingsDiffModel& settings() { return *settings_; }
  QTabWidget& tabs() { return *tabs_; }

 Q_SIGNALS:
  void baseline_wanted(const QString& id);

 private:
  RunRequest request_for(const QString& id) const;
  void request_points();
  void apply(const QString& run, const RunDelta& delta);
  void compare();
  void show_comparison();
  QStringList ids() const;
  void restyle();
  void style_series(Chart& chart, const QString& key);

  AppContext& context_;
  RunColors colors_;
  std::vector<ListedRun> runs_;
  QString baseline_;
  QTabWidget* tabs_;
  ChartBoard* board_;
  QTableView *outcomes_view_, *settings_view_;
  QLabel* note_;
  OutcomesModel* outcomes_;
  SettingsDiffModel* settings_;
  Comparison comparison_;
  QTimer* refresh_;
  LatestJob job_;
  HistoryThread thread_;  // outlives the feeds
  std::map<QString, std::unique_ptr<RunFeed>> feeds_;
};

}  // namespace lathe::ui
