// A table of value structs: each column is a title and a function of the row. What most lists of the window
// are made of.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <functional>
#include <utility>
#include <vector>

namespace lathe::ui {

// Raw value of a cell, for sorting and filtering.
inline constexpr int kSortRole = Qt::UserRole + 1;

template <class Row>
class RowsModel : public QAbstractTableModel {
 public:
  struct Column {
    QString title;
    QString tip;
    bool number = false;  // right-aligned
    std::function<QVariant(const Row&)> text;
    std::function<QVariant(const Row&)> sort{};  // none: as the text
    std::function<QVariant(const Row&)> tool_tip{};
  };

  RowsModel(std::vector<Column> columns, QObject* parent)
      : QAbstractTableModel(parent), columns_(std::move(columns)) {}

  const std::vector<Row>& rows() const { return rows_; }
  const Row& row(int index) const { return rows_[static_cast<size_t>(index)]; }

  void set_rows(std::vector<Row> rows) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
  }

  void append(const std::vector<Row>& rows) {
    if (rows.empty()) return;
    beginInsertRows({}, rowCount(), rowCount() + static_cast<int>(rows.size()) - 1);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    endInsertRows();
  }

  // The same rows in the same order, some with other values: keeps selection and scroll position.
  void update_row(int index, Row row) {
    rows_[static_cast<size_t>(index)] = std::move(row);
    Q_EMIT dataChanged(this->index(index, 0), this->index(index, columnCount() - 1));
  }

  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }

  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Column& column = columns_[static_cast<size_t>(index.column())];
    const Row& row = rows_[static_cast<size_t>(index.row())];
    switch (role) {
      case Qt::DisplayRole:
        return column.text(row);
      case kSortRole:
        return column.sort ? column.sort(row) : column.text(row);
      case Qt::ToolTipRole:
        return column.tool_tip ? column.tool_tip(row) : QVariant();
      case Qt::TextAlignmentRole:
        return QVariant((column.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
      default:
        return {};
    }
  }

  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
      return QAbstractTableModel::headerData(section, orientation, role);
    }
    const Column& column = columns_[static_cast<size_t>(section)];
    if (role == Qt::DisplayRole) return column.title;
    if (role == Qt::ToolTipRole && !column.tip.isEmpty()) return column.tip;
    if (role == Qt::TextAlignmentRole) {
      return QVariant((column.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    return {};
  }

 protected:
  std::vector<Row> rows_;
  std::vector<Column> columns_;
};

}  // namespace lathe::ui
