// Watches over the run that trains in this window: keeps the computer awake, shows how far it is, and says
// what closing the window would do.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>

#include "ui/latest_job.h"

class QWidget;

namespace lathe::ui {

struct AppContext;

// What would be lost if the run stopped without saving.
struct WorkAtStake {
  qint64 step = 0;
  qint64 saved_step = 0;  // newest checkpoint; 0: none
  double seconds = 0;     // training time since then, from the run's pace
  QString run{};          // its name
};

class TrainingGuard : public QObject {
  Q_OBJECT
 public:
  explicit TrainingGuard(AppContext& context, QObject* parent = nullptr);

  // Whether the window may close now. With a run at work it asks; when the answer takes time (saving) it
  // returns false and calls `close_again` once the run has ended.
  bool may_close(QWidget* window, std::function<void()> close_again);
  WorkAtStake at_stake() const;

  enum class Answer { SaveAndStop, OwnProcess, Stay };
  // How to ask; the default shows a dialog. Tests put their own answer here.
  std::function<Answer(const QString& question)> ask;

 private:
  void session_changed();
  void session_ended(const QString& run);
  void show_progress();  // on the task bar, now and then
  Answer ask_in_dialog(QWidget* window, const QString& question) const;

  AppContext& context_;
  bool closing_ = false;
  bool move_out_ = false;  // go on in a process of its own once saved
  std::function<void()> close_again_;
  QTimer progress_timer_;
  LatestJob progress_job_;
};

// "Run X trains in this window at step 412. Its last checkpoint is of step 400: 12 updates, about 3 min …"
QString closing_question(const QString& run, const WorkAtStake& stake);

}  // namespace lathe::ui
