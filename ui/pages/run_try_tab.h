// Try it: text from the live model or from any checkpoint.
#pragma once

#include <QWidget>
#include <atomic>
#include <memory>

#include "ui/latest_job.h"
#include "ui/models/run_feed.h"

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace lathe::ui {

struct AppContext;

class RunTryTab : public QWidget {
  Q_OBJECT
 public:
  explicit RunTryTab(AppContext& context, QWidget* parent = nullptr);
  ~RunTryTab() override;

  void set_run(const QString& id);
  void apply(const RunDelta& delta);
  void choose_step(qint64 step);
  void write();  // as the button does
  void stop();
  QString output() const;
  void set_prompt(const QString& prompt);
  void set_length(int tokens);
  bool busy() const { return job_.busy(); }

 Q_SIGNALS:
  void live_sample_wanted(const QString& prompt);
  void piece(int64_t job, const QString& text);  // comes from the worker

 private:
  void fill_sources();
  void show_state();
  bool live_chosen() const;

  AppContext& context_;
  QString id_;
  bool active_ = false;
  std::vector<CheckpointRow> checkpoints_;
  QComboBox* source_;
  QPlainTextEdit *prompt_, *output_;
  QSpinBox *length_, *seed_, *top_k_;
  QDoubleSpinBox *temperature_, *top_p_;
  QPushButton *write_, *stop_;
  QLabel* state_;
  std::shared_ptr<std::atomic<bool>> stop_flag_;
  int64_t writing_ = 0;  // id of the job whose text is shown
  LatestJob job_;
};

}  // namespace lathe::ui
