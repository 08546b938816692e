// Charts and rows as files, with the questions that takes.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

class QWidget;

namespace lathe::ui {

struct AppContext;
class Chart;

// Asks for format, size and file, and writes the picture.
void export_picture_dialog(AppContext& context, const std::vector<Chart*>& charts, QWidget* parent);

// Asks for a file and writes every stored row of that table ("updates", "telemetry", …) of the runs, one file
// a run (name-id.csv where there are several), on a worker. The outcome comes as an alert.
void export_rows_dialog(AppContext& context, const QStringList& runs, const QString& table, QWidget* parent);

// One CSV file; replaced only when complete. Returns the number of rows. For any thread.
int64_t export_rows(const std::filesystem::path& home, const std::string& run, const std::string& table,
                    const std::filesystem::path& file);

}  // namespace lathe::ui
