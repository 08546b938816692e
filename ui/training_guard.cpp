#include "ui/training_guard.h"

#include <QMessageBox>
#include <QPushButton>
#include <algorithm>

#include "core/config/config_json.h"
#include "core/config/derived.h"
#include "core/history/history_store.h"
#include "core/train/run_control.h"
#include "kernels/api/error.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/desktop/desktop_integration.h"
#include "ui/launch.h"
#include "ui/own_session.h"
#include "ui/preferences.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {
constexpr int kProgressMs = 2000;
}

QString closing_question(const QString& run, const WorkAtStake& stake) {
  const QString saved =
      stake.saved_step > 0
          ? TrainingGuard::tr("Its newest checkpoint is of step %1").arg(count_text(stake.saved_step))
          : TrainingGuard::tr("It has no checkpoint yet");
  const qint64 updates = std::max<qint64>(0, stake.step - stake.saved_step);
  QString lost = counted_text(updates, TrainingGuard::tr("1 update"), TrainingGuard::tr("%1 updates"));
  if (stake.seconds > 0)
    lost += TrainingGuard::tr(", about %1 of training", "time").arg(duration_text(stake.seconds));
  return TrainingGuard::tr("Run %1 trains in this window, at step %2. %3: %4 not saved.")
      .arg(run, count_text(stake.step), saved, lost);
}

TrainingGuard::TrainingGuard(AppContext& context, QObject* parent) : QObject(parent), context_(context) {
  connect(&context.session, &OwnSession::changed, this, &TrainingGuard::session_changed);
  connect(&context.session, &OwnSession::ended, this, &TrainingGuard::session_ended);
  progress_timer_.setInterval(kProgressMs);
  connect(&progress_timer_, &QTimer::timeout, this, &TrainingGuard::show_progress);
}

void TrainingGuard::session_changed() {
  if (context_.session.active()) {
    if (!progress_timer_.isActive()) progress_timer_.start();
  } else {
    progress_timer_.stop();
    progress_job_.cancel();
    context_.desktop.set_progress(std::nullopt);
  }
  if (context_.session.active() && context_.preferences.keep_awake()) {
    if (!context_.desktop.sleep_inhibited()) context_.desktop.inhibit_sleep(tr("Training a model"));
  } else {
    context_.desktop.release_sleep();
  }
}

void TrainingGuard::show_progress() {
  const QString run = context_.session.run_id();
  if (run.isEmpty() || progress_job_.busy()) return;
  progress_job_.run(
      [open = context_.open_history, id = to_std(run)]() -> std::optional<double> {
        const RunDetails details = open()->details(id);
        const std::optional<int64_t> last =
            last_update(from_json_text(details.settings_json, {}, "the history"));
        if (!last || *last <= 0) return std::nullopt;  // a run without an end has no fraction
        return static_cast<double>(details.step) / static_cast<double>(*last);
      },
      [this](std::optional<double> fraction) { context_.desktop.set_progress(fraction); });
}

void TrainingGuard::session_ended(const QString& run) {
  context_.desktop.release_sleep();
  if (!closing_) return;
  closing_ = false;
  if (move_out_ && !context_.session.error()) {
    move_out_ = false;
    try {
      resume_detached(context_.home, run, std::nullopt, context_.preferences.telemetry_every_s());
    } catch (...) {
      context_.alerts.add_error(as_error(std::current_exception()), run);
      return;  // saved, but nobody trains it on: the window stays to say so
    }
  }
  if (close_again_) close_again_();
}

WorkAtStake TrainingGuard::at_stake() const {
  WorkAtStake stake;
  const QString run = context_.session.run_id();
  stake.run = run;
  if (run.isEmpty()) return stake;
  try {
    // A few milliseconds: the catalogue's one row and the run's live row.
    const std::unique_ptr<HistoryStore> history = context_.open_history();
    const RunSummary summary = history->summary(to_std(run));
    stake.run = to_qt(summary.name);
    stake.step = summary.step;
    if (const auto live = history->open_reader(to_std(run))->live())
      stake.step = std::max(stake.step, static_cast<qint64>(live->step));
    stake.saved_step = summary.last_checkpoint_step.value_or(0);
    if (summary.step > 0) {
      stake.seconds = static_cast<double>(summary.active_ms) / 1e3 / static_cast<double>(summary.step) *
                      static_cast<double>(std::max<qint64>(0, stake.step - stake.saved_step));
    }
  } catch (const Error&) {
    return stake;  // the question is asked all the same, without figures
  }
  return stake;
}

TrainingGuard::Answer TrainingGuard::ask_in_dialog(QWidget* window, const QString& question) const {
  QMessageBox box(QMessageBox::Question, tr("A run trains in this window"), question, QMessageBox::NoButton,
                  window);
  box.setInformativeText(
      tr("“Save and stop” finishes the update, writes a checkpoint, and closes. “Keep running” does the "
         "same, then "
         "goes on in a process of its own. The run can be resumed at any time."));
  const QPushButton* save = box.addButton(tr("Save and stop"), QMessageBox::AcceptRole);
  const QPushButton* move = box.addButton(tr("Keep running"), QMessageBox::ActionRole);
  QPushButton* stay = box.addButton(tr("Stay"), QMessageBox::RejectRole);
  box.setDefaultButton(stay);
  box.setEscapeButton(stay);
  box.exec();
  return box.clickedButton() == save   ? Answer::SaveAndStop
         : box.clickedButton() == move ? Answer::OwnProcess
                                       : Answer::Stay;
}

bool TrainingGuard::may_close(QWidget* window, std::function<void()> close_again) {
  if (!context_.session.active()) return true;
  if (closing_) return false;
  const WorkAtStake stake = at_stake();
  const QString question = closing_question(stake.run, stake);
  const Answer answer = ask ? ask(question) : ask_in_dialog(window, question);
  if (answer == Answer::Stay) return false;
  RunControl* control = context_.session.control();
  if (!control) return true;  // it ended while the question stood
  closing_ = true;
  move_out_ = answer == Answer::OwnProcess;
  close_again_ = std::move(close_again);
  control->resume();  // a paused run saves only when it goes on
  control->stop();
  context_.alerts.add(
      {Alert::Level::Info, tr("Finishing the update and saving; the window closes then."), {}});
  return false;
}

}  // namespace lathe::ui
