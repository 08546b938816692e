#include "ui/alerts.h"

#include <utility>

#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {
constexpr size_t kMostAlerts = 500;
}

AlertList::AlertList(QObject* parent) : QAbstractListModel(parent) {}

void AlertList::add(Alert alert) {
  if (alerts_.size() >= kMostAlerts) {
    const int last = static_cast<int>(alerts_.size()) - 1;
    beginRemoveRows({}, last, last);
    alerts_.pop_back();
    endRemoveRows();
  }
  beginInsertRows({}, 0, 0);
  alerts_.push_front(std::move(alert));
  endInsertRows();
  set_unseen(unseen_ + 1);
  // A listener may add another alert: hand out a copy.
  const Alert newest = alerts_.front();
  Q_EMIT raised(newest);
}

void AlertList::add_error(const Error& error, const QString& run, const QString& details) {
  add({Alert::Level::Error, to_qt(error.what_happened()), to_qt(error.what_to_do()), run, details});
}

void AlertList::clear() {
  beginResetModel();
  alerts_.clear();
  endResetModel();
  set_unseen(0);
}

void AlertList::mark_seen() {
  set_unseen(0);
}

void AlertList::set_unseen(int unseen) {
  if (unseen_ == unseen) return;
  unseen_ = unseen;
  Q_EMIT unseen_changed(unseen);
}

int AlertList::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(alerts_.size());
}

QVariant AlertList::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const Alert& alert = at(index.row());
  switch (role) {
    case Qt::DisplayRole:
    case kTextRole:
      return alert.text;
    case Qt::ToolTipRole:
    case kAdviceRole:
      return alert.advice;
    case kLevelRole:
      return static_cast<int>(alert.level);
    case kRunRole:
      return alert.run;
    case kDetailsRole:
      return alert.details;
    case kTimeRole:
      return alert.time;
    case Qt::AccessibleTextRole:
      return tr("%1 %2").arg(alert.text, alert.advice);
    default:
      return {};
  }
}

}  // namespace lathe::ui
