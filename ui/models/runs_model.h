// All runs as a table, with ticks: tick some to lay them over one another.
#pragma once

#include <QColor>
#include <QString>
#include <QStringList>
#include <functional>

#include "ui/models/catalogue_feed.h"
#include "ui/models/rows_model.h"

namespace lathe::ui {

class RunsModel : public RowsModel<ListedRun> {
  Q_OBJECT
 public:
  enum Column {
    Name,
    Status,
    Curve,  // kSparklineRole
    Step,
    BestLoss,
    LastLoss,
    EvalLoss,
    TokensPerSecond,
    PredictedTokensPerSecond,
    PeakMemory,
    PlannedMemory,
    ActiveTime,
    Tokens,
    Created,
    Tags,
    Notes,
    Device,
    Id,
    ColumnCount
  };
  static constexpr int kIdRole = Qt::UserRole + 2;
  static constexpr int kSparklineRole = Qt::UserRole + 3;  // QList<float>
  static constexpr int kStatusRole = Qt::UserRole + 4;     // int of RunStatus
  static constexpr int kBaselineRole = Qt::UserRole + 5;   // bool
  static constexpr int kMostTicked = 10;

  explicit RunsModel(QObject* parent = nullptr);

  // Keeps ticks, selection and order: rows that stay are updated in place.
  void set_runs(const std::vector<ListedRun>& runs);
  const ListedRun* find(const QString& id) const;
  int row_of(const QString& id) const;  // -1: not there

  const QStringList& ticked() const { return ticked_; }  // in the order they were ticked
  void set_ticked(const QStringList& ids);  // unknown ones and those beyond kMostTicked are left out
  // Colour shown beside a ticked run, and which of them is the baseline.
  void set_color_of(std::function<QColor(const QString&)> color_of);
  void set_baseline(const QString& id);
  const QString& baseline() const { return baseline_; }

  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void ticked_changed(const QStringList& ids);
  void too_many_ticked();
  void rename_wanted(const QString& id, const QString& name);

 private:
  void row_changed(const QString& id);

  QStringList ticked_;
  QString baseline_;
  std::function<QColor(const QString&)> color_of_;
};

}  // namespace lathe::ui
