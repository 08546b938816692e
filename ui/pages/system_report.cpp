#include "ui/pages/system_report.h"

#include <sqlite3.h>

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/config/resources.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
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

ReportSection doctor_section(const QByteArray& json) {
  ReportSection section{tr("Checks"), {}};
  for (const QJsonValue& value : QJsonDocument::fromJson(json).object()[QStringLiteral("checks")].toArray()) {
    const QJsonObject check = value.toObject();
    const QString finding = check[QStringLiteral("finding")].toString();
    section.lines.push_back({check[QStringLiteral("subject")].toString(),
                             check[QStringLiteral("text")].toString(),
                             {},
                             finding == QLatin1String("good")      ? ReportLine::Mark::Good
                             : finding == QLatin1String("warning") ? ReportLine::Mark::Warning
                                                                   : ReportLine::Mark::Bad});
  }
  return section;
}

QString report_text(const std::vector<ReportSection>& sections) {
  QString text;
  for (const ReportSection& section : sections) {
    text += section.title + QLatin1Char('\n');
    for (const ReportLine& line : section.lines) {
      const QString mark = line.mark == ReportLine::Mark::Warning ? tr("note: ")
                           : line.mark == ReportLine::Mark::Bad   ? tr("BAD: ")
                                                                  : QString();
      text += QStringLiteral("  %1  %2%3\n").arg(line.name, -22).arg(mark, line.value);
      if (!line.advice.isEmpty()) text += QStringLiteral("  %1  %2\n").arg(QString(), -22).arg(line.advice);
    }
    text += QLatin1Char('\n');
  }
  return text;
}

}  // namespace lathe::ui
