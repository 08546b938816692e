#include "ui/pages/run_controls.h"

#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QThread>

#include "core/history/history_store.h"
#include "core/train/run_control.h"
#include "ui/app_context.h"
#include "ui/charts/chart_legend.h"
#include "ui/models/run_feed.h"
#include "ui/models/run_text.h"
#include "ui/navigator.h"
#include "ui/own_session.h"
#include "ui/pages/run_in_button.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

// A command acts between micro-steps or at the next update; one of a large model takes a quarter of a minute.
constexpr int kAnswerWaitMs = 120'000;
constexpr int kAnswerLookMs = 50;

struct Answer {
  bool done = false;
  QString text;
};

QString asking_text(CommandKind kind) {
  switch (kind) {
    case CommandKind::Pause:
      return RunControls::tr("Pausing at the next micro-step…");
    case CommandKind::Resume:
      return RunControls::tr("Going on…");
    case CommandKind::Stop:
      return RunControls::tr("Saving and stopping at the next update…");
    case CommandKind::StopNow:
      return RunControls::tr("Stopping at the next micro-step…");
    case CommandKind::Save:
      return RunControls::tr("Saving at the next update…");
    case CommandKind::Evaluate:
      return RunControls::tr("Evaluating at the next update…");
    case CommandKind::Sample:
      return RunControls::tr("Writing a sample at the next update…");
  }
  return {};
}

}  // namespace

RunControls::RunControls(AppContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  auto* layout = new FlowLayout(this, Theme::grid);
  pause_ = add(QStringLiteral("pause"), tr("Pause"), CommandKind::Pause);
  save_ = add(QStringLiteral("save"), tr("Save"), CommandKind::Save);
  evaluate_ = add(QStringLiteral("evaluate"), tr("Evaluate"), CommandKind::Evaluate);
  sample_ = add(QStringLiteral("sample"), tr("Sample"), CommandKind::Sample);
  stop_ = add(QStringLiteral("stop_save"), tr("Stop and save"), CommandKind::Stop);
  stop_now_ = add(QStringLiteral("stop"), tr("Stop now"), CommandKind::StopNow);
  resume_ = make_primary(tr("Resume"), {}, this);
  resume_->setIcon(context.theme.icon(QStringLiteral("resume")));
  run_in_ = new RunInButton(context, this);
  clone_ = make_button(tr("Clone to New"),
                       tr("Opens New with the settings of this run, to change and launch"), this);
  clone_->setIcon(context.theme.icon(QStringLiteral("clone")));
  answer_ = make_muted({}, this);
  answer_->setWordWrap(false);
  for (QWidget* widget : std::initializer_list<QWidget*>{resume_, run_in_, clone_, answer_})
    layout->addWidget(widget);
  connect(resume_, &QPushButton::clicked, this, [this] { Q_EMIT context_.navigator.resume_run(id_, -1); });
  connect(clone_, &QPushButton::clicked, this, [this] { Q_EMIT context_.navigator.clone_run(id_); });
  connect(&context.session, &OwnSession::changed, this, &RunControls::show_state);
  connect(&context.preferences, &Preferences::changed, this, &RunControls::show_state);
  show_state();
}

QPushButton* RunControls::add(const QString& icon, const QString& text, CommandKind kind) {
  QPushButton* button = make_button(text, {}, this);
  button->setIcon(context_.theme.icon(icon));
  layout()->addWidget(button);
  connect(button, &QPushButton::clicked, this, [this, kind] {
    if (kind == CommandKind::StopNow) {
      confirm_stop_now();
    } else if (kind == CommandKind::Pause && details_ && details_->status == RunStatus::Paused) {
      send(CommandKind::Resume);
    } else {
      send(kind);
    }
  });
  return button;
}

QPushButton* RunControls::button(CommandKind kind) const {
  switch (kind) {
    case CommandKind::Pause:
    case CommandKind::Resume:
      return pause_;
    case CommandKind::Save:
      return save_;
    case CommandKind::Evaluate:
      return evaluate_;
    case CommandKind::Sample:
      return sample_;
    case CommandKind::Stop:
      return stop_;
    case CommandKind::StopNow:
      return stop_now_;
  }
  return nullptr;
}

QString RunControls::answer() const {
  return answer_->text();
}

void RunControls::set_run(const QString& id) {
  job_.cancel();
  id_ = id;
  details_.reset();
  live_.reset();
  waits_ = false;
  say({});
  show_state();
}

void RunControls::apply(const RunDelta& delta) {
  if (delta.details) details_ = delta.details;
  if (delta.live) live_ = delta.live;
  if (delta.details || delta.live) show_state();
}

QString RunControls::at_stake() const {
  if (!details_) return {};
  const int64_t step = live_ ? std::max(details_->step, live_->step) : details_->step;
  if (!details_->last_checkpoint_step) {
    return step == 0 ? tr("Nothing has been trained yet.")
                     : tr("There is no checkpoint yet: all %1 updates would be lost.").arg(count_text(step));
  }
  const int64_t lost = step - *details_->last_checkpoint_step;
  return lost <= 0 ? tr("The last checkpoint is of this step: only the update at work is lost.")
                   : tr("The last checkpoint is of step %1: %2 updates would be lost.")
                         .arg(count_text(*details_->last_checkpoint_step), count_text(lost));
}

void RunControls::show_state() {
  const bool active = details_ && is_active(details_->status);
  const bool preparing = active && details_->status == RunStatus::Preparing;
  const bool stopping = active && details_->status == RunStatus::Stopping;
  const bool paused = active && details_->status == RunStatus::Paused;
  for (QPushButton* button : {pause_, save_, evaluate_, sample_, stop_, stop_now_}) {
    button->setVisible(active);
    button->setEnabled(active && !preparing && !stopping);
  }
  stop_now_->setEnabled(active && !preparing);
  const bool waits = paused && live_ && live_->phase.starts_with(kWaitsForDisk);
  const QString wait = waits ? sentence_text(to_qt(live_->phase)) : QString();
  pause_->setText(waits ? tr("Retry") : paused ? tr("Go on") : tr("Pause"));
  pause_->setIcon(context_.theme.icon(paused ? QStringLiteral("play") : QStringLiteral("pause")));
  pause_->setToolTip(waits ? tr("Tries to write again, then goes on. %1").arg(wait)
                     : paused
                         ? tr("Goes on with the micro-step where it paused")
                         : tr("Pauses after the micro-step at work. Nothing is lost; memory stays taken"));
  if (waits != std::exchange(waits_, waits)) say(wait, waits);
  save_->setToolTip(tr("Writes a checkpoint after the update at work, then goes on"));
  evaluate_->setToolTip(tr("Measures the validation loss after the update at work, then goes on"));
  sample_->setToolTip(tr("Lets the model write to the run's own prompts after the update at work"));
  stop_->setToolTip(
      tr("Finishes the update at work, writes a checkpoint, and ends the run: nothing is lost"));
  stop_now_->setToolTip(tr("Ends the run within one micro-step without saving. %1").arg(at_stake()));

  const bool ended = details_ && !active;
  const bool resumable = ended && details_->last_checkpoint_step && details_->status != RunStatus::Finished;
  resume_->setVisible(resumable);
  run_in_->setVisible(resumable);
  clone_->setVisible(ended && !details_->settings_json.empty());
  if (resumable) {
    resume_->setText(tr("Resume at step %1").arg(count_text(*details_->last_checkpoint_step)));
    const QString hindrance = resume_hindrance(context_);
    resume_->setEnabled(hindrance.isEmpty());
    resume_->setToolTip(hindrance.isEmpty() ? tr("Checks the checkpoint, then goes on with step %1 %2.")
                                                  .arg(count_text(*details_->last_checkpoint_step + 1),
                                                       resume_place(context_))
                                            : hindrance);
  }
}

void RunControls::confirm_stop_now() {
  QMessageBox box(QMessageBox::Warning, tr("Stop now"),
                  tr("Stop %1 without saving?").arg(to_qt(details_->name)), QMessageBox::NoButton, this);
  box.setInformativeText(at_stake() + QLatin1Char('\n') +
                         tr("Stop and save would finish the update and keep it all."));
  QPushButton* save = box.addButton(tr("Stop and save"), QMessageBox::ActionRole);
  QPushButton* now = box.addButton(tr("Stop now"), QMessageBox::DestructiveRole);
  box.setDefaultButton(box.addButton(QMessageBox::Cancel));
  box.exec();
  if (box.clickedButton() == save) send(CommandKind::Stop);
  if (box.clickedButton() == now) send(CommandKind::StopNow);
}

void RunControls::say(const QString& text, bool bad) {
  answer_->setText(text);
  answer_->setVisible(!text.isEmpty());
  set_tone(answer_, bad ? Tone::Bad : Tone::Muted);
}

void RunControls::send(CommandKind kind, const QString& argument) {
  if (id_.isEmpty()) return;
  say(asking_text(kind));
  // Whoever trains it, in this window or elsewhere, looks into the history for requests between micro-steps.
  const auto newest = std::make_shared<std::atomic<int64_t>>(0);
  const int64_t id = job_.run(
      [open = context_.open_history, run = to_std(id_), kind, prompt = to_std(argument), newest, this] {
        const auto store = open();
        const int64_t command = store->post_command(run, kind, prompt);
        for (int waited = 0; waited < kAnswerWaitMs; waited += kAnswerLookMs) {
          const Command answer = store->command(command);
          if (answer.answered_ms) return Answer{answer.done, to_qt(answer.answer)};
          if (*newest != 0 && job_.stale(*newest)) break;
          QThread::msleep(kAnswerLookMs);
        }
        return Answer{false, tr("No answer yet; the request stands.")};
      },
      [this, kind](const Answer& answer) {
        say(sentence_text(answer.text), !answer.done);
        Q_EMIT answered(kind, answer.done, answer.text);
      },
      [this, kind](const Error& error) {
        const QString text = to_qt(error.what_happened());
        say(sentence_text(text), true);
        Q_EMIT answered(kind, false, text);
      });
  *newest = id;
}

}  // namespace lathe::ui
