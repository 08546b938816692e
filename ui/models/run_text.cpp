#include "ui/models/run_text.h"

#include <QCoreApplication>
#include <cmath>

#include "core/config/setting_info.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("lathe::ui::RunText", text);
}

}  // namespace

QString status_text(RunStatus status) {
  switch (status) {
    case RunStatus::Preparing:
      return tr("preparing");
    case RunStatus::Running:
      return tr("running");
    case RunStatus::Paused:
      return tr("paused");
    case RunStatus::Stopping:
      return tr("stopping");
    case RunStatus::Finished:
      return tr("finished");
    case RunStatus::Stopped:
      return tr("stopped");
    case RunStatus::Failed:
      return tr("failed");
    case RunStatus::Interrupted:
      return tr("interrupted");
  }
  return {};
}

QString level_text(EventLevel level) {
  switch (level) {
    case EventLevel::Info:
      return tr("info");
    case EventLevel::Warning:
      return tr("warning");
    case EventLevel::Error:
      return tr("error");
  }
  return {};
}

QString run_title(const RunSummary& run) {
  return run.name == run.id ? to_qt(run.id) : tr("%1  (%2)").arg(to_qt(run.name), to_qt(run.id));
}

QString optional_text(const std::optional<double>& value, int decimals) {
  if (!value) return no_value();
  if (std::isnan(*value)) return QStringLiteral("NaN");
  if (std::isinf(*value)) return *value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
  return number_text(*value, decimals);
}

QString optional_bytes(const std::optional<int64_t>& bytes) {
  return bytes ? bytes_text(*bytes) : no_value();
}

QString setting_label(const std::string& key) {
  const SettingInfo* info = find_setting(key);
  if (info == nullptr) return to_qt(key);
  return tr("%1 · %2").arg(to_qt(info->section_label), to_qt(info->label));
}

QString memory_source_text(const std::string& source) {
  if (source == "driver") return tr("reported by the driver");
  if (source == "inferred") return tr("inferred: arena and measured overhead");
  if (source == "host") return tr("resident memory of the process");
  return tr("source not recorded");
}

}  // namespace lathe::ui
