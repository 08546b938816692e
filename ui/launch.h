// Runs in a process of their own: they outlive the window, its display server and a GPU fault.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

namespace lathe {
struct RunConfig;
}

namespace lathe::ui {

// The `lathe` beside this executable, else the one on the path. Throws NotFound.
QString lathe_program();

// Starts `lathe train` on these settings, detached; its output goes to `log`. The run appears in the history
// of `home` by itself. Throws NotFound, Io.
struct DetachedRun {
  qint64 process = 0;
  std::filesystem::path settings;
  std::filesystem::path log;
};
DetachedRun launch_detached(const std::filesystem::path& home, const RunConfig& config,
                            double telemetry_every_s);
DetachedRun resume_detached(const std::filesystem::path& home, const QString& run, std::optional<qint64> step,
                            double telemetry_every_s);

// The last lines of a log, for alerts.
QString log_tail(const std::filesystem::path& log, int lines = 12);

// `lathe train --preset 977m --set batch.micro_batch=2 …`, quoted for a POSIX shell.
QString command_line(const RunConfig& config);

}  // namespace lathe::ui
