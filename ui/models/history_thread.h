// The thread on which a page's history is read. Feeds live on it; it ends with the page.
#pragma once

#include <QThread>
#include <functional>
#include <memory>

namespace lathe {
class HistoryStore;
}

namespace lathe::ui {

using OpenHistory = std::function<std::unique_ptr<HistoryStore>()>;

class HistoryThread : public QThread {
  Q_OBJECT
 public:
  explicit HistoryThread(QObject* parent = nullptr) : QThread(parent) { start(); }
  ~HistoryThread() override {
    quit();
    wait();
  }
};

}  // namespace lathe::ui
