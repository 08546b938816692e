// The tables below a run's charts: log, samples, checkpoints, settings.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <string>
#include <vector>

#include "core/history/run_types.h"
#include "ui/models/rows_model.h"

namespace lathe::ui {

class EventsModel : public RowsModel<EventRow> {
 public:
  enum Column { Time, Step, Level, Text };
  static constexpr int kLevelRole = Qt::UserRole + 2;  // int of EventLevel
  explicit EventsModel(QObject* parent = nullptr);
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
};

class SamplesModel : public RowsModel<SampleRow> {
 public:
  enum Column { Step, Prompt, Text };
  explicit SamplesModel(QObject* parent = nullptr);
};

class CheckpointsModel : public RowsModel<CheckpointRow> {
 public:
  enum Column { Step, Size, Created, State, Path };
  explicit CheckpointsModel(QObject* parent = nullptr);
};

struct SettingLine {
  std::string key{};
  QString label{};
  QString value{};
  QString standard{};  // the default; empty: this build doesn't know the setting
  QString help{};
};

class SettingsModel : public RowsModel<SettingLine> {
 public:
  enum Column { Label, Value, Default, Key };
  explicit SettingsModel(QObject* parent = nullptr);
  void set_settings(const SettingRows& settings);
  // Values that differ from the default are bold.
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
};

}  // namespace lathe::ui
