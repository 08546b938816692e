// Run: any run, live or finished. What it does, its numbers, its charts, and what steers it.
#pragma once

#include <QTimer>

#include "ui/models/catalogue_feed.h"
#include "ui/models/run_feed.h"
#include "ui/pages/page.h"

class QComboBox;
class QLabel;
class QStackedWidget;
class QTabWidget;

namespace lathe::ui {

class ElidedLabel;
class RunCharts;
class RunCheckpointsTab;
class RunControls;
class RunLogTab;
class RunNumbers;
class RunProfileTab;
class RunSamplesTab;
class RunSettingsTab;
class RunTryTab;

class RunPage : public Page {
  Q_OBJECT
 public:
  explicit RunPage(AppContext& context, QWidget* parent = nullptr);
  ~RunPage() override;

  void activated() override;
  void deactivated() override;
  void show_run(const QString& id) override;
  void focus_search() override;

  QString run() const { return id_; }
  RunCharts& charts() { return *charts_; }
  RunControls& controls() { return *controls_; }
  RunLogTab& log() { return *log_; }
  RunSamplesTab& samples() { return *samples_; }
  RunCheckpointsTab& checkpoints() { return *checkpoints_; }
  RunSettingsTab& settings() { return *settings_; }
  RunTryTab& try_it() { return *try_; }
  RunProfileTab& profile() { return *profile_; }
  QTabWidget& tabs() { return *tabs_; }
  bool complete() const { return complete_; }  // every stored row has arrived

 private:
  void build();
  void request();
  void fill_picker(const RunList& list);
  void take(const RunDelta& delta);
  void show_status(const RunDetails& run);

  QString id_;
  bool complete_ = false;
  QComboBox* picker_ = nullptr;
  QLabel* status_ = nullptr;
  ElidedLabel* reason_ = nullptr;
  RunControls* controls_ = nullptr;
  RunNumbers* numbers_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  RunCharts* charts_ = nullptr;
  RunSamplesTab* samples_ = nullptr;
  RunTryTab* try_ = nullptr;
  RunProfileTab* profile_ = nullptr;
  RunLogTab* log_ = nullptr;
  RunCheckpointsTab* checkpoints_ = nullptr;
  RunSettingsTab* settings_ = nullptr;
  HistoryThread thread_;  // outlives the feeds below
  CatalogueFeed catalogue_;
  RunFeed feed_;
};

}  // namespace lathe::ui
