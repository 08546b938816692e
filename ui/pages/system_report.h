// What this machine is and what of it Lathe can use, as text to copy into a report.
#pragma once

#include <QByteArray>
#include <QString>
#include <filesystem>
#include <vector>

namespace lathe::ui {

struct ReportLine {
  enum class Mark { Plain, Good, Warning, Bad };
  QString name;
  QString value;
  QString advice{};
  Mark mark = Mark::Plain;
};

struct ReportSection {
  QString title;
  std::vector<ReportLine> lines;
};

// Folders and software. Reads disks and file systems: some milliseconds, on a worker.
std::vector<ReportSection> system_report(const std::filesystem::path& home,
                                         const std::filesystem::path& data);

// What `lathe doctor --json` printed, in the words of `lathe doctor`.
ReportSection doctor_section(const QByteArray& json);

QString report_text(const std::vector<ReportSection>& sections);

}  // namespace lathe::ui
