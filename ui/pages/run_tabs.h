// The lists beside a run's charts: log, samples, checkpoints, settings. Each shows one model and offers what
// one does with it.
#pragma once

#include <QWidget>

#include "ui/latest_job.h"
#include "ui/models/run_feed.h"
#include "ui/models/run_tables.h"
#include "ui/pages/checkpoint_check.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QListView;
class QPlainTextEdit;
class QPushButton;
class QSortFilterProxyModel;
class QStackedWidget;
class QTableView;

namespace lathe::ui {

struct AppContext;
class EmptyState;

// Messages of a run, with a choice of levels and a search; follows the newest unless scrolled away.
class RunLogTab : public QWidget {
  Q_OBJECT
 public:
  explicit RunLogTab(AppContext& context, QWidget* parent = nullptr);
  void apply(const RunDelta& delta);
  void focus_search();
  EventsModel& model() { return *model_; }

 private:
  void copy() const;
  EventsModel* model_;
  QSortFilterProxyModel* filter_;
  QTableView* view_;
  QLineEdit* search_;
  QComboBox* level_;
};

// Texts the model wrote while it trained, by step.
class RunSamplesTab : public QWidget {
  Q_OBJECT
 public:
  explicit RunSamplesTab(AppContext& context, QWidget* parent = nullptr);
  void apply(const RunDelta& delta);
  SamplesModel& model() { return *model_; }

 Q_SIGNALS:
  void sample_wanted();

 private:
  void show_current();
  SamplesModel* model_;
  QTableView* view_;
  QPlainTextEdit* text_;
  QStackedWidget* stack_;
};

// Checkpoints: resume or fork there, verify every byte, look at the folder.
class RunCheckpointsTab : public QWidget {
  Q_OBJECT
 public:
  explicit RunCheckpointsTab(AppContext& context, QWidget* parent = nullptr);
  void set_run(const QString& id);
  void apply(const RunDelta& delta);
  CheckpointsModel& model() { return *model_; }
  void verify();
  QString verdict() const;

 Q_SIGNALS:
  void save_wanted();
  void try_wanted(qint64 step);

 private:
  const CheckpointRow* current() const;
  void check(bool every_byte);
  void show_state();
  AppContext& context_;
  QString id_;
  std::filesystem::path folder_;
  bool active_ = false;
  CheckpointsModel* model_;
  QTableView* view_;
  QPushButton *resume_, *verify_, *open_, *try_;
  QLabel* verdict_;
  QStackedWidget* stack_;
  CheckpointChecks checks_;
  std::optional<CheckpointVerdict> verdict_known_;
  LatestJob job_;
};

// Every setting the run was made with, `auto` resolved.
class RunSettingsTab : public QWidget {
  Q_OBJECT
 public:
  explicit RunSettingsTab(AppContext& context, QWidget* parent = nullptr);
  void apply(const RunDelta& delta);
  void focus_search();
  SettingsModel& model() { return *model_; }

 private:
  SettingsModel* model_;
  QSortFilterProxyModel* filter_;
  QLineEdit* search_;
  QString json_;
  std::string id_;
};

}  // namespace lathe::ui
