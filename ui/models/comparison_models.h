// Runs side by side, one column a run: settings that differ, and three outcomes with their distance to the
// pinned baseline.
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "core/history/compare.h"

namespace lathe::ui {

class SettingsDiffModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit SettingsDiffModel(QObject* parent = nullptr);
  // `comparison` is shared with the others; the baseline's column is what the others are measured by.
  void set_comparison(const Comparison& comparison, const QString& baseline);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  Comparison comparison_;
  int baseline_ = 0;  // index of the run
};

// One row a run: tokens/s (median and spread), peak memory, loss at equal tokens.
class OutcomesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Run, TokensPerSecond, Spread, Speedup, Memory, MemoryDelta, Loss, LossDelta, ColumnCount };
  explicit OutcomesModel(QObject* parent = nullptr);
  void set_comparison(const Comparison& comparison, const QString& baseline);
  void set_color_of(std::function<QColor(const QString&)> color_of) { color_of_ = std::move(color_of); }
  QString id_of(int row) const;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString text(const RunOutcome& run, int column) const;

  Comparison comparison_;
  size_t baseline_ = 0;
  std::function<QColor(const QString&)> color_of_;
};

}  // namespace lathe::ui
