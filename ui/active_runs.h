// The runs that train now, in whatever process, and what should be known of them: a warning, a disk that
// filled up, the end. Says so through the alerts, each thing once.
#pragma once

#include <QObject>
#include <QTimer>
#include <map>
#include <optional>
#include <vector>

#include "kernels/api/error.h"
#include "ui/latest_job.h"
#include "ui/models/catalogue_feed.h"

namespace lathe::ui {

struct AppContext;
struct RunNews;

class ActiveRuns : public QObject {
  Q_OBJECT
 public:
  explicit ActiveRuns(AppContext& context, QObject* parent = nullptr);
  ~ActiveRuns() override;

  void start();
  const std::vector<ListedRun>& runs() const { return runs_; }  // newest first

 Q_SIGNALS:
  void changed();  // the history was read for the first time; then: which runs, their names or states

 private:
  void take(const RunList& list);
  void ended(const QString& run, std::optional<Error> error);
  void look();
  void tell(const RunNews& news);
  void tell_end(const RunNews& news, const std::optional<Error>& error);
  void tell_events(const RunNews& news);

  AppContext& context_;
  const int64_t since_ms_;  // what happened before is history
  HistoryThread thread_;    // outlives the feed
  CatalogueFeed feed_;
  QTimer timer_;  // between two looks at the events of active runs
  LatestJob job_;
  bool listed_ = false;
  std::vector<ListedRun> runs_;
  QString own_;                                    // trains in this window: its session tells its end
  std::map<QString, std::optional<Error>> ended_;  // whose end is to be told
  std::map<QString, int64_t> told_ends_;           // when they ended
  std::map<QString, int64_t> last_event_;
  std::map<QString, int64_t> told_kinds_;  // run and kind of event: when
  std::map<QString, QString> told_waits_;  // for the disk
};

}  // namespace lathe::ui
