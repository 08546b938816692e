// The list of all runs as it changes: a worker looks at the catalogue four times a second.
#pragma once

#include <QObject>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/history/run_types.h"
#include "ui/models/history_thread.h"

class QTimer;

namespace lathe::ui {

// A row of the list of runs.
struct ListedRun : RunSummary {
  std::string notes{};
};

struct RunList {
  std::vector<ListedRun> runs{};  // newest first, archived ones too
  QString error{};                // the history can't be read, and why
};
using RunListPtr = std::shared_ptr<const RunList>;

class CatalogueWorker;

class CatalogueFeed : public QObject {
  Q_OBJECT
 public:
  CatalogueFeed(OpenHistory open, QThread* thread, QObject* parent = nullptr);
  ~CatalogueFeed() override;
  void set_active(bool active);
  void look_now();  // after a change of one's own: the next answer comes at once

 Q_SIGNALS:
  void listed(const lathe::ui::RunListPtr& runs);

 private:
  CatalogueWorker* worker_;
};

// On the thread; for catalogue_feed.cpp.
class CatalogueWorker : public QObject {
  Q_OBJECT
 public:
  explicit CatalogueWorker(OpenHistory open);
  ~CatalogueWorker() override;
  void look();
  void set_active(bool active);

 Q_SIGNALS:
  void listed(const lathe::ui::RunListPtr& runs);

 private:
  OpenHistory open_;
  std::unique_ptr<HistoryStore> store_;
  int64_t version_ = -1;
  int looks_ = 0;
  QString last_error_;
  QTimer* timer_;
};

}  // namespace lathe::ui

Q_DECLARE_METATYPE(lathe::ui::RunListPtr)
