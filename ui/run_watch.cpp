#include "ui/run_watch.h"

#include "core/history/history_store.h"
#include "core/platform/process.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/launch.h"
#include "ui/navigator.h"
#include "ui/preferences.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {
constexpr int kLookMs = 200;
}

RunWatch::RunWatch(AppContext& context, QObject* parent) : QObject(parent), context_(context) {
  timer_.setInterval(kLookMs);
  connect(&timer_, &QTimer::timeout, this, &RunWatch::look);
}

void RunWatch::watch(const QString& after, const QString& log, qint64 process) {
  wait_for(
      [after = to_std(after)](HistoryStore& history) {
        const std::vector<RunSummary> runs = history.list();
        return !runs.empty() && runs.front().id > after ? to_qt(runs.front().id) : QString();
      },
      log, process);
}

void RunWatch::resume(const QString& run, std::optional<qint64> step) {
  if (start_.busy()) return;
  struct Started {
    DetachedRun files;
    std::optional<int64_t> finished_ms;  // of its last session: another one means that it trained since
  };
  start_.run(
      [open = context_.open_history, home = context_.home, run, step,
       telemetry_every_s = context_.preferences.telemetry_every_s()] {
        const std::optional<int64_t> finished_ms = open()->summary(to_std(run)).finished_ms;
        return Started{resume_detached(home, run, step, telemetry_every_s), finished_ms};
      },
      [this, run](const Started& started) {
        wait_for(
            [run, before = started.finished_ms](HistoryStore& history) {
              return history.summary(to_std(run)).finished_ms != before ? run : QString();
            },
            to_qt(started.files.log), started.files.process);
      },
      [this, run](const Error& error) { context_.alerts.add_error(error, run); });
}

void RunWatch::wait_for(Begun begun, const QString& log, qint64 process) {
  begun_ = std::move(begun);
  log_ = log;
  process_ = process;
  process_start_ = process_start_time(process).value_or(0);
  timer_.start();
}

void RunWatch::look() {
  if (job_.busy()) return;
  struct Look {
    QString run;
    bool alive = false;
  };
  job_.run(
      [open = context_.open_history, begun = begun_, process = process_, start = process_start_] {
        // Alive is asked first: a run that began just before the process ended is still found.
        Look look{{}, process_is_alive(process, start)};
        look.run = begun(*open());
        return look;
      },
      [this](const Look& look) {
        if (!look.run.isEmpty()) {
          timer_.stop();
          Q_EMIT context_.navigator.open_run(look.run);
        } else if (!look.alive) {
          timer_.stop();
          context_.alerts.add({Alert::Level::Error,
                               tr("The process of the run ended before it began to train."),
                               tr("Its last words stand below; its log is %1.").arg(log_),
                               {},
                               log_tail(to_path(log_))});
        }
      },
      [this](const Error& error) {
        timer_.stop();
        context_.alerts.add_error(error);
      });
}

}  // namespace lathe::ui
