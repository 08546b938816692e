// The buttons that steer a run. Requests travel through the history, so a run of another process obeys them
// as one's own does; each button says what it will do, and the line beside them what was done.
#pragma once

#include <QString>
#include <QWidget>
#include <optional>

#include "core/history/run_types.h"
#include "ui/latest_job.h"

class QLabel;
class QPushButton;
class QTimer;

namespace lathe::ui {

struct AppContext;
class RunInButton;
struct RunDelta;

class RunControls : public QWidget {
  Q_OBJECT
 public:
  explicit RunControls(AppContext& context, QWidget* parent = nullptr);

  void set_run(const QString& id);
  void apply(const RunDelta& delta);
  // Sends the request and shows its answer. `argument` is the prompt of a sample.
  void send(CommandKind kind, const QString& argument = {});

  QPushButton* button(CommandKind kind) const;  // Pause and Resume share one
  QPushButton* resume_button() const { return resume_; }
  QString answer() const;

 Q_SIGNALS:
  void answered(lathe::CommandKind kind, bool done, const QString& answer);

 private:
  QPushButton* add(const QString& icon, const QString& text, CommandKind kind);
  void show_state();
  void confirm_stop_now();
  QString at_stake() const;
  void say(const QString& text, bool bad = false);

  AppContext& context_;
  QString id_;
  std::optional<RunDetails> details_;
  std::optional<LiveState> live_;
  bool waits_ = false;  // for the disk, and says so
  QPushButton *pause_, *save_, *evaluate_, *sample_, *stop_, *stop_now_, *resume_, *clone_;
  RunInButton* run_in_;
  QLabel* answer_;
  LatestJob job_;
};

}  // namespace lathe::ui
