// What this machine is and what of it Lathe can use, as text to copy into a report.
#pragma once

#include <QString>
#include <filesystem>
#include <vector>

#include "kernels/api/backend.h"

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

// Reads memory, disk and file systems: some milliseconds, on a worker.
std::vector<ReportSection> system_report(const std::filesystem::path& home,
                                         const std::filesystem::path& data);

// Each backend with its device and versions, or why it can't be used. On the GUI thread: backends belong to
// it.
ReportSection device_section(const BackendRegistry& registry, bool ready);

QString report_text(const std::vector<ReportSection>& sections);

}  // namespace lathe::ui
