// Which runs of the list are in sight, and in which order. Every word of the text must stand somewhere in the
// name, id, status, tags, notes or device; "status:failed" and "tag:fp8" look there only.
#pragma once

#include <QSortFilterProxyModel>
#include <QString>
#include <QStringList>

namespace lathe::ui {

class RunsFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit RunsFilter(QObject* parent = nullptr);
  void set_text(const QString& text);
  void set_show_archived(bool on);
  bool show_archived() const { return show_archived_; }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList words_;
  bool show_archived_ = false;
};

}  // namespace lathe::ui
