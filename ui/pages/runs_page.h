// Runs: all runs in a table, what one does with them, and those that are ticked side by side.
#pragma once

#include "ui/latest_job.h"
#include "ui/models/catalogue_feed.h"
#include "ui/models/history_editor.h"
#include "ui/pages/checkpoint_check.h"
#include "ui/pages/page.h"

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace lathe::ui {

class RunsCompare;
class RunsFilter;
class RunsModel;
struct ListedRun;

class RunsPage : public Page {
  Q_OBJECT
 public:
  explicit RunsPage(AppContext& context, QWidget* parent = nullptr);
  ~RunsPage() override;

  void activated() override;
  void deactivated() override;
  void show_runs(const QStringList& ids) override;
  void focus_search() override;

  RunsModel& model() { return *model_; }
  RunsFilter& filter() { return *filter_; }
  RunsCompare& compare() { return *compare_; }
  QTableView& table() { return *view_; }
  QLineEdit& search() { return *search_; }

  // What the menu offers, for the selected runs.
  void open_current();
  void resume_current();
  void clone_current();
  void rename_current();
  void edit_tags();
  void edit_notes();
  void archive_selected();
  void delete_selected();
  void export_selected();
  void pin_baseline(const QString& id);
  void import_log(const QString& file = {});

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build();
  void build_toolbar(QHBoxLayout* line);
  void fill_menu(QMenu& menu);
  void take(const RunList& list);
  void show_state();
  void ticks_changed();
  QStringList selected() const;
  const ListedRun* current() const;
  std::vector<ListedRun> ticked_runs() const;

  RunsModel* model_ = nullptr;
  RunsFilter* filter_ = nullptr;
  QTableView* view_ = nullptr;
  QLineEdit* search_ = nullptr;
  QLabel *count_ = nullptr, *hint_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  QSplitter* splitter_ = nullptr;
  RunsCompare* compare_ = nullptr;
  QPushButton *open_ = nullptr, *resume_ = nullptr, *clone_ = nullptr;
  QToolButton *archive_button_ = nullptr, *pin_ = nullptr, *trash_ = nullptr;
  bool listed_ = false;
  QStringList wanted_;  // to be ticked once they are listed
  struct SelectedRun {
    bool has_settings = false;
    CheckpointVerdict checkpoint{};  // of the newest one
  };
  void look_into_selected();
  void fit_list();
  CheckpointChecks checks_;
  QString looked_into_;                  // run and step
  std::optional<SelectedRun> selected_;  // nothing while it is looked into
  LatestJob look_;
  bool border_moved_ = false;
  HistoryEditor editor_;
  HistoryThread thread_;  // outlives the feed
  CatalogueFeed feed_;
};

}  // namespace lathe::ui
