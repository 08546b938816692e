#include "ui/launch.h"

#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <algorithm>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/presets.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

DetachedRun start(const std::filesystem::path& home, const QStringList& arguments, double telemetry_every_s,
                  DetachedRun files) {
  QProcess process;
  process.setProgram(lathe_program());
  process.setArguments(QStringList{QStringLiteral("--home"), to_qt(home)} + arguments +
                       QStringList{QStringLiteral("--telemetry-every"), QString::number(telemetry_every_s)});
  process.setStandardInputFile(QProcess::nullDevice());
  process.setStandardOutputFile(to_qt(files.log));
  process.setStandardErrorFile(to_qt(files.log), QIODevice::Append);
  if (!process.startDetached(&files.process)) {
    throw Error(ErrorCode::Io,
                "The process of the run could not be started: " + to_std(process.errorString()),
                "See whether " + to_std(process.program()) + " can be run from a terminal.");
  }
  return files;
}

DetachedRun launch_files(const std::filesystem::path& home) {
  const std::filesystem::path folder = home / "launch";
  std::filesystem::create_directories(folder);
  const std::string name = unique_name();
  DetachedRun files;
  files.settings = folder / (name + ".json");
  files.log = folder / (name + ".log");
  return files;
}

// Quotes what a POSIX shell would take apart.
QString quoted(const QString& text) {
  static const QString safe =
      QStringLiteral("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+%@");
  const bool plain =
      !text.isEmpty() && std::all_of(text.begin(), text.end(), [](QChar c) { return safe.contains(c); });
  if (plain) return text;
  return QLatin1Char('\'') + QString(text).replace(QLatin1Char('\''), QStringLiteral("'\\''")) +
         QLatin1Char('\'');
}

}  // namespace

QString lathe_program() {
  const std::filesystem::path folder = executable_folder();
#ifdef _WIN32
  const std::filesystem::path beside = folder / "lathe.exe";
#else
  const std::filesystem::path beside = folder / "lathe";
#endif
  if (QFileInfo(to_qt(beside)).isExecutable()) return to_qt(beside);
  const QString found = QStandardPaths::findExecutable(QStringLiteral("lathe"));
  if (found.isEmpty()) {
    throw Error(ErrorCode::NotFound,
                "The program `lathe` stands neither in " + to_utf8(folder) + " nor on the path.",
                "Install the whole of Lathe, or train in this window.");
  }
  return found;
}

DetachedRun launch_detached(const std::filesystem::path& home, const RunConfig& config,
                            double telemetry_every_s) {
  const DetachedRun files = launch_files(home);
  save_config(config, files.settings);
  return start(home, {QStringLiteral("train"), QStringLiteral("--config"), to_qt(files.settings)},
               telemetry_every_s, files);
}

DetachedRun resume_detached(const std::filesystem::path& home, const QString& run, std::optional<qint64> step,
                            double telemetry_every_s) {
  const QString reference = step ? QStringLiteral("%1@%2").arg(run).arg(*step) : run;
  return start(home, {QStringLiteral("resume"), reference}, telemetry_every_s, launch_files(home));
}

QString log_tail(const std::filesystem::path& log, int lines) {
  QFile file(to_qt(log));
  if (!file.open(QIODevice::ReadOnly)) return {};
  constexpr qint64 kMost = 16384;
  if (file.size() > kMost) file.seek(file.size() - kMost);
  const QStringList all = QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  return all.mid(std::max<qsizetype>(0, all.size() - lines)).join(QLatin1Char('\n'));
}

QString command_line(const RunConfig& config) {
  // From the nearest preset: the one that leaves the fewest settings to say.
  QString best;
  qsizetype fewest = 0;
  const auto consider = [&](const QString& start_text, const RunConfig& base) {
    QString text = start_text;
    qsizetype changes = 0;
    for (const SettingDifference& difference : diff(base, config)) {
      ++changes;
      text += QStringLiteral(" \\\n  --set ") + quoted(to_qt(difference.key + "=" + difference.b_text));
    }
    if (best.isEmpty() || changes < fewest) {
      best = text;
      fewest = changes;
    }
  };
  consider(QStringLiteral("lathe train"), RunConfig{});
  for (const PresetInfo& preset : list_presets()) {
    consider(QStringLiteral("lathe train --preset ") + quoted(to_qt(preset.name)), load_preset(preset.name));
  }
  return best;
}

}  // namespace lathe::ui
