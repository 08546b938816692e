#include "ui/run_watch.h"

#include "core/history/history_store.h"
#include "core/platform/process.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/launch.h"
#include "ui/navigator.h"
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
  after_ = after;
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
      [open = context_.open_history, after = to_std(after_), process = process_, start = process_start_] {
        // Alive is asked first: a run listed just before the process ended is still found.
        Look look{{}, process_is_alive(process, start)};
        const std::vector<RunSummary> runs = open()->list();
        if (!runs.empty() && runs.front().id > after) look.run = to_qt(runs.front().id);
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
