#include "ui/active_runs.h"

#include <QRegularExpression>
#include <algorithm>

#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "core/train/run_control.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/models/run_text.h"
#include "ui/own_session.h"
#include "ui/text.h"

namespace lathe::ui {

// What a look into a run found.
struct RunNews {
  QString id;
  RunSummary run{};
  std::vector<EventRow> events{};  // warnings and errors that came since the last look
  int64_t last_event = 0;
  QString wait{};      // what it needs of the disk it waits for
  QString last_log{};  // its last lines, where there is something to tell
  QString unreadable{};
};

namespace {

constexpr int kLookMs = 1000;
// An event this young may be the first word of an end or of a pause, which then says it all.
constexpr int64_t kSettleMs = 500;
constexpr int64_t kQuietMs = 10 * 60 * 1000;  // before the same kind of event is told again
constexpr size_t kLogLines = 12;

QString last_lines(const RunReader& reader) {
  const std::vector<EventRow> events = reader.events();
  QStringList lines;
  for (size_t i = events.size() - std::min(events.size(), kLogLines); i < events.size(); ++i) {
    lines << ActiveRuns::tr("step %1  %2").arg(events[i].step).arg(to_qt(events[i].text));
  }
  return lines.join(QLatin1Char('\n'));
}

RunNews read_news(HistoryStore& store, const QString& id, int64_t last_event, bool ended) {
  RunNews news{.id = id, .last_event = last_event};
  try {
    news.run = store.summary(to_std(id));
    const std::unique_ptr<RunReader> reader = store.open_reader(to_std(id));
    const int64_t settled_ms = wall_clock_ms() - kSettleMs;
    for (const EventRow& event : reader->events(last_event)) {
      if (event.time_ms > settled_ms) continue;
      news.last_event = event.id;
      if (event.level != EventLevel::Info) news.events.push_back(event);
    }
    const std::optional<LiveState> live = reader->live();
    if (live && live->state == RunStatus::Paused && live->phase.starts_with(kWaitsForDisk)) {
      news.wait = sentence_text(to_qt(live->phase));
      news.wait +=
          QLatin1Char(' ') + ActiveRuns::tr("%1 are free in %2.")
                                 .arg(bytes_text(free_disk_bytes(reader->folder())), to_qt(reader->folder()));
    }
    if (ended || !news.events.empty() || !news.wait.isEmpty()) news.last_log = last_lines(*reader);
  } catch (const Error& error) {
    news.unreadable = to_qt(std::string_view(error.what()));
  }
  return news;
}

// Events differ by their figures only when they are of one kind.
QString kind_of(const QString& run, const std::string& text) {
  static const QRegularExpression figures(QStringLiteral("[0-9][0-9.,e+-]*"));
  return run + QLatin1Char(' ') + to_qt(text).remove(figures);
}

bool same_look(const ListedRun& a, const ListedRun& b) {
  return a.id == b.id && a.status == b.status && a.name == b.name;
}

}  // namespace

ActiveRuns::ActiveRuns(AppContext& context, QObject* parent)
    : QObject(parent), context_(context), since_ms_(wall_clock_ms()), feed_(context.open_history, &thread_) {
  timer_.setInterval(kLookMs);
  connect(&timer_, &QTimer::timeout, this, &ActiveRuns::look);
  connect(&feed_, &CatalogueFeed::listed, this, [this](const RunListPtr& list) { take(*list); });
  connect(&context.session, &OwnSession::listed, this, [this](const QString& run) {
    own_ = run;
    feed_.look_now();
  });
  connect(&context.session, &OwnSession::ended, this, [this](const QString& run) {
    own_.clear();
    const std::optional<Error> error = context_.session.error();
    if (!run.isEmpty()) {
      ended(run, error);
    } else if (error) {
      context_.alerts.add_error(*error);
    }
  });
}

ActiveRuns::~ActiveRuns() = default;

void ActiveRuns::start() {
  feed_.set_active(true);
}

void ActiveRuns::take(const RunList& list) {
  if (!list.error.isEmpty()) return;  // the pages say so
  std::vector<ListedRun> active;
  std::ranges::copy_if(list.runs, std::back_inserter(active),
                       [](const ListedRun& run) { return is_active(run.status); });
  for (const ListedRun& before : runs_) {
    const auto now = std::ranges::find(list.runs, before.id, &ListedRun::id);
    const QString id = to_qt(before.id);
    if (now != list.runs.end() && !is_active(now->status) && id != own_) ended(id, std::nullopt);
  }
  const bool news = !listed_ || !std::ranges::equal(active, runs_, same_look);
  listed_ = true;
  runs_ = std::move(active);
  if (runs_.empty() && ended_.empty()) {
    timer_.stop();
  } else if (!timer_.isActive()) {
    timer_.start();
  }
  if (news) Q_EMIT changed();
}

void ActiveRuns::ended(const QString& run, std::optional<Error> error) {
  ended_.try_emplace(run, std::move(error));
  timer_.start();  // should the first look fail
  look();
}

void ActiveRuns::look() {
  if (job_.busy()) return;
  std::map<QString, int64_t> asked;
  for (const ListedRun& run : runs_) asked[to_qt(run.id)] = last_event_[to_qt(run.id)];
  for (const auto& [run, error] : ended_) asked[run] = last_event_[run];
  if (asked.empty()) return;
  job_.run(
      [open = context_.open_history, asked, ends = ended_] {
        const std::unique_ptr<HistoryStore> store = open();
        std::vector<RunNews> all;
        for (const auto& [run, last_event] : asked)
          all.push_back(read_news(*store, run, last_event, ends.contains(run)));
        return all;
      },
      [this, ends = ended_](const std::vector<RunNews>& all) {
        for (const RunNews& news : all) {
          last_event_[news.id] = news.last_event;
          const auto end = ends.find(news.id);
          if (end == ends.end()) {
            tell(news);
          } else {
            ended_.erase(news.id);
            tell_end(news, end->second);
          }
        }
        if (!ended_.empty()) look();  // came while it read
      });
}

void ActiveRuns::tell(const RunNews& news) {
  if (!news.unreadable.isEmpty() || !is_active(news.run.status)) return;
  QString& told_wait = told_waits_[news.id];
  const bool waits = !news.wait.isEmpty(), known = !told_wait.isEmpty();
  told_wait = news.wait;
  if (waits && !known) {
    context_.alerts.add({Alert::Level::Error,
                         tr("Run %1 is paused: its disk is full.").arg(to_qt(news.run.name)),
                         news.wait + QLatin1Char(' ') + tr("Make room there, then press Retry in Run."),
                         news.id, news.last_log});
  }
  if (!waits) tell_events(news);
}

void ActiveRuns::tell_events(const RunNews& news) {
  for (const EventRow& event : news.events) {
    if (event.time_ms < since_ms_) continue;
    int64_t& told_ms = told_kinds_[kind_of(news.id, event.text)];
    if (event.time_ms - told_ms < kQuietMs) continue;
    told_ms = event.time_ms;
    const bool error = event.level == EventLevel::Error;
    context_.alerts.add({error ? Alert::Level::Error : Alert::Level::Warning,
                         tr("Run %1: %2").arg(to_qt(news.run.name), to_qt(event.text)),
                         {},
                         news.id,
                         news.last_log});
  }
}

void ActiveRuns::tell_end(const RunNews& news, const std::optional<Error>& error) {
  told_waits_.erase(news.id);
  int64_t& told_ms = told_ends_[news.id];
  const int64_t ended_ms = news.run.finished_ms.value_or(0);
  const bool told = told_ms == ended_ms && ended_ms > 0;
  told_ms = ended_ms;
  if (error) {
    context_.alerts.add_error(*error, news.id, news.last_log);
  } else if (!news.unreadable.isEmpty()) {
    context_.alerts.add({Alert::Level::Error, news.unreadable, {}, news.id});
  } else if (!told && !is_active(news.run.status)) {
    const bool bad = news.run.status == RunStatus::Failed || news.run.status == RunStatus::Interrupted;
    context_.alerts.add(
        {bad ? Alert::Level::Error : Alert::Level::Info,
         tr("Run %1: %2 at step %3.")
             .arg(to_qt(news.run.name), status_text(news.run.status), count_text(news.run.step)),
         to_qt(news.run.status_reason), news.id, news.last_log});
  }
}

}  // namespace lathe::ui
