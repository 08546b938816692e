#include "ui/models/run_tables.h"

#include <QFont>
#include <algorithm>

#include "core/config/setting_info.h"
#include "ui/models/run_text.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString one_line(const std::string& text) {
  return to_qt(text).simplified();
}

}  // namespace

EventsModel::EventsModel(QObject* parent)
    : RowsModel(
          {
              {tr("Time"),
               {},
               false,
               [](const EventRow& row) { return date_time_text(row.time_ms); },
               [](const EventRow& row) { return static_cast<qlonglong>(row.time_ms); }},
              {tr("Step"),
               {},
               true,
               [](const EventRow& row) { return count_text(row.step); },
               [](const EventRow& row) { return static_cast<qlonglong>(row.step); }},
              {tr("Level"),
               {},
               false,
               [](const EventRow& row) { return level_text(row.level); },
               [](const EventRow& row) { return static_cast<int>(row.level); }},
              {tr("Message"),
               {},
               false,
               [](const EventRow& row) { return to_qt(row.text); },
               {},
               [](const EventRow& row) { return to_qt(row.text); }},
          },
          parent) {}

QVariant EventsModel::data(const QModelIndex& index, int role) const {
  if (role == kLevelRole && checkIndex(index, CheckIndexOption::IndexIsValid)) {
    return static_cast<int>(row(index.row()).level);
  }
  return RowsModel::data(index, role);
}

SamplesModel::SamplesModel(QObject* parent)
    : RowsModel(
          {
              {tr("Step"),
               {},
               true,
               [](const SampleRow& row) { return count_text(row.step); },
               [](const SampleRow& row) { return static_cast<qlonglong>(row.step); }},
              {tr("Prompt"),
               {},
               false,
               [](const SampleRow& row) {
                 return row.prompt.empty() ? tr("(start of a document)") : one_line(row.prompt);
               }},
              {tr("Text"), {}, false, [](const SampleRow& row) { return one_line(row.text); }},
          },
          parent) {}

CheckpointsModel::CheckpointsModel(QObject* parent)
    : RowsModel(
          {
              {tr("Step"),
               {},
               true,
               [](const CheckpointRow& row) { return count_text(row.step); },
               [](const CheckpointRow& row) { return static_cast<qlonglong>(row.step); }},
              {tr("Size"),
               {},
               true,
               [](const CheckpointRow& row) { return bytes_text(row.bytes); },
               [](const CheckpointRow& row) { return static_cast<qlonglong>(row.bytes); }},
              {tr("Saved"),
               {},
               false,
               [](const CheckpointRow& row) { return date_time_text(row.created_ms); },
               [](const CheckpointRow& row) { return static_cast<qlonglong>(row.created_ms); }},
              {tr("State"), tr("Complete: its manifest is on disk, so the run can resume there"), false,
               [](const CheckpointRow& row) { return row.complete ? tr("complete") : tr("incomplete"); }},
              {tr("Folder"), tr("Within the run's folder"), false,
               [](const CheckpointRow& row) { return to_qt(row.path); }},
          },
          parent) {}

SettingsModel::SettingsModel(QObject* parent)
    : RowsModel(
          {
              {tr("Setting"),
               {},
               false,
               [](const SettingLine& row) { return row.label; },
               {},
               [](const SettingLine& row) { return row.help; }},
              {tr("Value"),
               {},
               false,
               [](const SettingLine& row) { return row.value; },
               {},
               [](const SettingLine& row) { return row.value; }},
              {tr("Default"), {}, false, [](const SettingLine& row) { return row.standard; }},
              {tr("Key"), tr("What JSON and the command line call it"), false,
               [](const SettingLine& row) { return to_qt(row.key); }},
          },
          parent) {}

void SettingsModel::set_settings(const SettingRows& settings) {
  std::vector<SettingLine> lines;
  for (const auto& [key, value] : settings) {
    SettingLine line{key, setting_label(key), to_qt(value)};
    if (const SettingInfo* info = find_setting(key)) {
      line.standard = to_qt(default_text(*info));
      line.help = to_qt(info->help);
    }
    lines.push_back(std::move(line));
  }
  set_rows(std::move(lines));
}

QVariant SettingsModel::data(const QModelIndex& index, int role) const {
  if (role == Qt::FontRole && checkIndex(index, CheckIndexOption::IndexIsValid) && index.column() == Value) {
    const SettingLine& line = row(index.row());
    if (line.value != line.standard) {
      QFont font;
      font.setBold(true);
      return font;
    }
  }
  return RowsModel::data(index, role);
}

ProfileModel::ProfileModel(QObject* parent)
    : RowsModel(
          {
              {tr("Time goes to"), {}, false, [](const ProfileRow& row) { return to_qt(row.name); }},
              {tr("Ops"), {}, true, [](const ProfileRow& row) { return count_text(row.count); }},
              {tr("Time"), tr("Median of several timings, of each op alone"), true,
               [](const ProfileRow& row) { return milliseconds_text(row.ms); }},
              {tr("Floor"),
               tr("FLOPs over the device's rate or bytes over its bandwidth, whichever is longer"), true,
               [](const ProfileRow& row) {
                 return row.floor_ms > 0 ? milliseconds_text(row.floor_ms) : no_value();
               }},
              {tr("Of floor"), tr("Time over floor: 1 can't be beaten"), true,
               [](const ProfileRow& row) {
                 return row.floor_ms > 0 ? number_text(row.ms / row.floor_ms, 2) + QStringLiteral("×")
                                         : no_value();
               }},
              {tr("Share"), tr("Of the sum of all ops"), true,
               [this](const ProfileRow& row) {
                 return sum_ms_ > 0 ? percent_text(row.ms / sum_ms_, 1) : no_value();
               }},
              {QString(), {}, false, [](const ProfileRow&) { return QVariant(); }},
          },
          parent) {}

void ProfileModel::set_profile(const SequenceProfile& profile, ProfileBy by) {
  std::vector<ProfileRow> rows = profile_rows(profile, by);
  sum_ms_ = longest_ms_ = floor_ms_ = 0;
  for (const ProfileRow& row : rows) {
    sum_ms_ += row.ms;
    floor_ms_ += row.floor_ms;
    longest_ms_ = std::max({longest_ms_, row.ms, row.floor_ms});
  }
  set_rows(std::move(rows));
}

QString milliseconds_text(double ms) {
  return QObject::tr("%1 ms").arg(number_text(ms, ms < 10 ? 3 : ms < 100 ? 1 : 0));
}

}  // namespace lathe::ui
