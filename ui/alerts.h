// What the user should know: a list inside the window, newest first. The main window shows it behind a bell
// and passes warnings and errors on to the desktop.
#pragma once

#include <QAbstractListModel>
#include <QDateTime>
#include <QString>
#include <deque>

namespace lathe {
class Error;
}

namespace lathe::ui {

struct Alert {
  enum class Level { Info, Warning, Error };
  Level level = Level::Info;
  QString text;       // what happened
  QString advice{};   // what to do; may be empty
  QString run{};      // the run it is about; may be empty
  QString details{};  // last log lines; may be empty
  QDateTime time = QDateTime::currentDateTime();
};

class AlertList : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Column { kTextRole = Qt::UserRole + 1, kAdviceRole, kLevelRole, kRunRole, kDetailsRole, kTimeRole };

  explicit AlertList(QObject* parent = nullptr);

  void add(Alert alert);  // keeps the newest 500
  void add_error(const Error& error, const QString& run = {}, const QString& details = {});
  void clear();
  void mark_seen();
  int unseen() const { return unseen_; }
  const Alert& at(int row) const { return alerts_[static_cast<size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 Q_SIGNALS:
  void raised(const lathe::ui::Alert& alert);
  void unseen_changed(int unseen);

 private:
  void set_unseen(int unseen);

  std::deque<Alert> alerts_;
  int unseen_ = 0;
};

}  // namespace lathe::ui
