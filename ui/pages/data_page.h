// Data: datasets of this machine; build and import, look inside, see the first batch of a run.
#pragma once

#include <QString>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/config/run_config.h"
#include "ui/latest_job.h"
#include "ui/pages/data_facts.h"
#include "ui/pages/page.h"

class QComboBox;
class QLabel;
class QListWidget;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QTableWidget;
class QTabWidget;

namespace lathe {
class HistoryStore;
}

namespace lathe::ui {

class DataJob;
class ElidedLabel;
class EmptyState;
class FactGrid;
class LengthBars;
class TokenView;
struct DataProgress;

class DataPage : public Page {
  Q_OBJECT
 public:
  explicit DataPage(AppContext& context, QWidget* parent = nullptr);

  void activated() override;
  void show_dataset(const QString& folder) override;

  DataJob& job() { return *job_; }
  QListWidget& list() { return *list_; }
  QTabWidget& tabs() { return *tabs_; }
  TokenView& windows() { return *window_view_; }
  TokenView& batch() { return *batch_view_; }
  QString current_folder() const;
  void show_first_batch_of(const QString& run);

 private:
  struct NamedConfig {
    QString name;  // of the run
    RunConfig config;
  };
  QWidget* make_header();
  QWidget* make_overview();
  QWidget* make_windows();
  QWidget* make_first_batch();
  QWidget* make_progress();
  void refresh_list(const QString& select = {});
  void show_current();
  void show_facts(const DatasetFacts& facts);
  void read_window_now();
  void read_batch_now();
  void choose_run();
  void show_first_batch_of_newest(const QString& folder);
  void show_first_batch(std::function<std::optional<std::string>(const HistoryStore&)> which);
  void build();
  void import();
  void add_folder();
  void build_sample();
  void job_progressed(const DataProgress& progress);
  void job_ended(const QString& text, bool good);

  DataJob* job_;
  QListWidget* list_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  EmptyState* empty_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  QLabel* title_ = nullptr;
  ElidedLabel* folder_ = nullptr;
  FactGrid* facts_ = nullptr;
  LengthBars* bars_ = nullptr;
  QLabel* lengths_ = nullptr;
  QTableWidget* sources_ = nullptr;
  QComboBox* split_ = nullptr;
  QSpinBox *window_ = nullptr, *context_length_ = nullptr;
  QLabel* where_ = nullptr;
  TokenView* window_view_ = nullptr;
  QLabel* batch_where_ = nullptr;
  QSpinBox *micro_step_ = nullptr, *row_ = nullptr;
  TokenView* batch_view_ = nullptr;
  QWidget* progress_ = nullptr;
  QLabel* progress_text_ = nullptr;
  QProgressBar* progress_bar_ = nullptr;
  QPushButton* cancel_ = nullptr;
  std::optional<DatasetFacts> shown_;
  std::optional<NamedConfig> batch_config_;
  LatestJob list_job_, facts_job_, window_job_, batch_job_;
};

}  // namespace lathe::ui
