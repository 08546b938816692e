// The table of changes as a model: what, memory, work, maths.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "ui/forms/changes.h"

namespace lathe::ui {

class Theme;

class ChangesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kName, kMemory, kWork, kVerdict, kColumns };

  explicit ChangesModel(const Theme& theme, QObject* parent = nullptr);
  void set_changes(std::vector<ProposedChange> changes);
  const ProposedChange& at(int row) const { return changes_[static_cast<size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  bool shows_speed() const;  // a cost model predicted it; otherwise the work stands in its column

  const Theme& theme_;
  std::vector<ProposedChange> changes_;
};

}  // namespace lathe::ui
