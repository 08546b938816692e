#include "ui/pages/system_report.h"

#include <sqlite3.h>

#include <QCoreApplication>
#include <QGuiApplication>
#include <QSysInfo>

#include "core/config/resources.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("SystemPage", text);
}

// A line whose value may fail to be read: the failure is the value then.
ReportLine line(const QString& name, const std::function<QString()>& value) {
  try {
    return {name, value()};
  } catch (const Error& error) {
    return {name, to_qt(error.what_happened()), to_qt(error.what_to_do()), ReportLine::Mark::Bad};
  }
}

void add_folder(ReportSection& section, const QString& name, const std::filesystem::path& folder,
                bool holds_history) {
  section.lines.push_back({name, to_qt(folder)});
  section.lines.push_back(line(tr("  free"), [&] { return bytes_text(free_disk_bytes(folder)); }));
  ReportLine traits = line(tr("  file system"), [&] {
    const FileSystemTraits read = file_system_traits(folder);
    return to_qt(read.kind) + (read.mount.empty() ? QString() : tr(" at %1").arg(to_qt(read.mount)));
  });
  if (traits.mark != ReportLine::Mark::Bad) {
    const FileSystemTraits read = file_system_traits(folder);
    if (holds_history && !read.can_hold_history()) {
      traits.mark = ReportLine::Mark::Bad;
      traits.advice = tr(
          "A history can't live here: it needs a local disk with locks. Choose another folder with --home.");
    } else if (read.is_windows_mounted) {
      traits.mark = ReportLine::Mark::Warning;
      traits.advice =
          tr("A Windows drive seen from WSL reads slowly: copy datasets into the Linux file system.");
    } else {
      traits.mark = ReportLine::Mark::Good;
    }
  }
  section.lines.push_back(traits);
}

}  // namespace

std::vector<ReportSection> system_report(const std::filesystem::path& home,
                                         const std::filesystem::path& data) {
  std::vector<ReportSection> sections;
  ReportSection machine{tr("Machine"), {}};
  machine.lines.push_back({tr("System"), QSysInfo::prettyProductName() + QStringLiteral(", ") +
                                             QSysInfo::kernelType() + QLatin1Char(' ') +
                                             QSysInfo::kernelVersion()});
  machine.lines.push_back({tr("Host"), to_qt(host_name())});
  machine.lines.push_back(
      {tr("Processor"),
       tr("%1, %2 cores usable").arg(QSysInfo::currentCpuArchitecture()).arg(logical_cores())});
  machine.lines.push_back(line(tr("Memory"), [] {
    const SystemMemory memory = system_memory();
    return tr("%1, %2 available").arg(bytes_text(memory.total_bytes), bytes_text(memory.available_bytes));
  }));
  const ProcessMemory own = process_memory();
  machine.lines.push_back(
      {tr("This window"), tr("%1 resident, %2 at most so far")
                              .arg(bytes_text(own.resident_bytes), bytes_text(own.peak_resident_bytes))});
  sections.push_back(std::move(machine));

  ReportSection folders{tr("Folders"), {}};
  add_folder(folders, tr("History and runs"), home, true);
  add_folder(folders, tr("Datasets"), data, false);
  folders.lines.push_back(line(tr("Resources"), [] { return to_qt(resources_folder()); }));
  sections.push_back(std::move(folders));

  ReportSection software{tr("Software"), {}};
  software.lines.push_back({tr("Lathe"), QCoreApplication::applicationVersion()});
  software.lines.push_back({QStringLiteral("Qt"), QString::fromLatin1(qVersion())});
  software.lines.push_back({QStringLiteral("SQLite"), QString::fromLatin1(sqlite3_libversion())});
  sections.push_back(std::move(software));
  return sections;
}

ReportSection device_section(const BackendRegistry& registry, bool ready) {
  ReportSection section{tr("Devices"), {}};
  if (!ready) section.lines.push_back({tr("GPU"), tr("checking…")});
  for (const BackendEntry& entry : registry) {
    const QString name = entry.name == "cpu"    ? tr("CPU")
                         : entry.name == "cuda" ? tr("GPU (CUDA)")
                                                : to_qt(entry.name);
    if (!entry.backend) {
      section.lines.push_back(
          {name, tr("can't be used"), to_qt(entry.unavailable), ReportLine::Mark::Warning});
      continue;
    }
    const DeviceInfo device = entry.backend->device();
    section.lines.push_back({name, to_qt(device.name), {}, ReportLine::Mark::Good});
    // The CPU's memory is the machine's and stands there.
    if (device.total_bytes > 0)
      section.lines.push_back(
          {tr("  memory"),
           tr("%1, %2 free").arg(bytes_text(device.total_bytes), bytes_text(device.free_bytes))});
    if (device.target.compute_capability > 0) {
      section.lines.push_back({tr("  compute capability"), QStringLiteral("%1.%2")
                                                               .arg(device.target.compute_capability / 10)
                                                               .arg(device.target.compute_capability % 10)});
    }
    for (const auto& [what, version] : device.versions) {
      section.lines.push_back({QStringLiteral("  ") + to_qt(what), to_qt(version)});
    }
  }
  return section;
}

QString report_text(const std::vector<ReportSection>& sections) {
  QString text;
  for (const ReportSection& section : sections) {
    text += section.title + QLatin1Char('\n');
    for (const ReportLine& line : section.lines) {
      text += QStringLiteral("  %1  %2\n").arg(line.name, -22).arg(line.value);
      if (!line.advice.isEmpty()) text += QStringLiteral("  %1  %2\n").arg(QString(), -22).arg(line.advice);
    }
    text += QLatin1Char('\n');
  }
  return text;
}

}  // namespace lathe::ui
