// Where a step's time goes: the profile of a run's settings, time beside the floor the hardware sets.
// Measured by `lathe profile --run`, from here or from a terminal, into the run's folder.
#pragma once

#include <QWidget>
#include <filesystem>
#include <optional>

#include "core/experiment/profile.h"
#include "ui/latest_job.h"
#include "ui/models/run_feed.h"
#include "ui/models/run_tables.h"

class QComboBox;
class QLabel;
class QProcess;
class QStackedWidget;
class QTableView;
class QTimer;

namespace lathe::ui {

struct AppContext;
class EmptyState;

class RunProfileTab : public QWidget {
  Q_OBJECT
 public:
  explicit RunProfileTab(AppContext& context, QWidget* parent = nullptr);
  ~RunProfileTab() override;

  void set_run(const QString& id);
  void apply(const RunDelta& delta);
  ProfileModel& model() { return *model_; }
  void show_by(ProfileBy by);
  QString summary() const;
  bool empty() const;

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void look();  // whether there is another profile
  void measure();
  void show_profile();
  void show_empty(const QString& trouble = {});

  AppContext& context_;
  QString id_;
  std::filesystem::path folder_;
  bool imported_ = false;
  std::optional<std::filesystem::file_time_type> read_;  // when the file that is shown was written
  Profile profile_;
  ProfileModel* model_;
  QComboBox *sequence_, *by_;
  QLabel* summary_;
  QTableView* view_;
  EmptyState* empty_;
  QStackedWidget* stack_;
  QTimer* looks_;
  QProcess* measuring_ = nullptr;
  LatestJob job_;
};

}  // namespace lathe::ui
