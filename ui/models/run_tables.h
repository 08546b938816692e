// The tables below a run's charts: log, samples, checkpoints, settings, profile.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <string>
#include <vector>

#include "core/experiment/profile.h"
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

class ProfileModel : public RowsModel<ProfileRow> {
 public:
  enum Column { Name, Ops, Time, Floor, Ratio, Share, Bar };
  explicit ProfileModel(QObject* parent = nullptr);
  void set_profile(const SequenceProfile& profile, ProfileBy by);
  double longest_ms() const { return longest_ms_; }
  double floor_ms() const { return floor_ms_; }  // of all rows; 0: no rates of this device are known

 private:
  double sum_ms_ = 0, longest_ms_ = 0, floor_ms_ = 0;
};

// "0.412 ms", "12.3 ms", "1,234 ms": three digits, one unit in a whole table.
QString milliseconds_text(double ms);

}  // namespace lathe::ui
