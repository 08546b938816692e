#include "ui/pages/run_export.h"

#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <fstream>

#include "core/history/export.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/charts/chart.h"
#include "ui/charts/chart_export.h"
#include "ui/latest_job.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

QString export_folder(const AppContext& context) {
  return context.preferences.value(QStringLiteral("export/folder"), QDir::homePath()).toString();
}

void remember_folder(AppContext& context, const QString& file) {
  context.preferences.set_value(QStringLiteral("export/folder"), QFileInfo(file).absolutePath());
}

QString with_ending(const QString& file, const QString& ending) {
  return file.endsWith(QLatin1Char('.') + ending, Qt::CaseInsensitive) ? file
                                                                       : file + QLatin1Char('.') + ending;
}

// Writes on a worker; what `write` returns, or why it failed, comes as an alert.
void run_export(AppContext& context, std::function<QString()> write) {
  // The job belongs to the context's list of alerts, which outlives the page.
  auto* job = new LatestJob(&context.alerts);
  job->run(
      std::move(write),
      [&context, job](const QString& done) {
        context.alerts.add({Alert::Level::Info, done});
        job->deleteLater();
      },
      [&context, job](const Error& error) {
        context.alerts.add_error(error);
        job->deleteLater();
      });
}

}  // namespace

void export_picture_dialog(AppContext& context, const std::vector<Chart*>& charts, QWidget* parent) {
  if (charts.empty()) return;
  QDialog dialog(parent);
  dialog.setWindowTitle(QDialog::tr("Export picture"));
  auto* format = new QComboBox(&dialog);
  format->addItems({QStringLiteral("PNG"), QStringLiteral("SVG"), QStringLiteral("PDF")});
  auto* scale = new QComboBox(&dialog);
  for (const int factor : {1, 2, 3, 4}) scale->addItem(QDialog::tr("%1×").arg(factor), factor);
  scale->setCurrentIndex(1);
  auto* width = new QSpinBox(&dialog);
  auto* height = new QSpinBox(&dialog);
  for (QSpinBox* box : {width, height}) {
    box->setRange(160, 4000);
    box->setSuffix(QDialog::tr(" px"));
    box->setSingleStep(40);
  }
  width->setValue(960);
  height->setValue(480);
  auto* result = new QLabel(&dialog);
  result->setWordWrap(true);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, &dialog);
  QPushButton* accept = buttons->addButton(QDialog::tr("Export…"), QDialogButtonBox::AcceptRole);
  const auto chosen = [&] {
    PictureOptions options;
    options.format = static_cast<PictureFormat>(format->currentIndex());
    options.scale = options.format == PictureFormat::Png ? scale->currentData().toInt() : 1;
    options.size = QSize(width->value(), height->value());
    return options;
  };
  const auto describe = [&] {
    const PictureOptions options = chosen();
    const QSize pixels = picture_pixels(charts.size(), options);
    const QString hindrance = picture_hindrance(charts.size(), options);
    scale->setEnabled(options.format == PictureFormat::Png);
    accept->setEnabled(hindrance.isEmpty());
    set_tone(result, hindrance.isEmpty() ? Tone::Plain : Tone::Bad);
    result->setText(!hindrance.isEmpty() ? hindrance
                    : pixels.isEmpty()
                        ? QDialog::tr("Vectors: sharp at any size.")
                        : QDialog::tr("%1 × %2 pixels.").arg(pixels.width()).arg(pixels.height()));
  };
  for (QComboBox* box : {format, scale})
    QObject::connect(box, &QComboBox::currentIndexChanged, &dialog, describe);
  for (QSpinBox* box : {width, height}) QObject::connect(box, &QSpinBox::valueChanged, &dialog, describe);
  describe();
  QObject::connect(buttons, &QDialogButtonBox::accepted, &dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  auto* form = new QFormLayout(&dialog);
  form->addRow(QDialog::tr("Format"), format);
  form->addRow(QDialog::tr("Scale"), scale);
  form->addRow(QDialog::tr("Width of a chart"), width);
  form->addRow(QDialog::tr("Height of a chart"), height);
  form->addRow(QDialog::tr("Result"), result);
  form->addRow(buttons);
  if (dialog.exec() != QDialog::Accepted) return;

  const QString ending = format->currentText().toLower();
  const QString name = charts.size() == 1 ? charts.front()->info().key : QStringLiteral("charts");
  QString file =
      QFileDialog::getSaveFileName(parent, QDialog::tr("Export picture"),
                                   export_folder(context) + QLatin1Char('/') + with_ending(name, ending),
                                   QStringLiteral("%1 (*.%2)").arg(format->currentText(), ending));
  if (file.isEmpty()) return;
  file = with_ending(file, ending);
  remember_folder(context, file);
  try {
    run_export(context, [picture = paint_charts(charts, chosen()), file] {
      write_picture(picture, to_path(file));
      return QDialog::tr("The picture is in %1.").arg(file);
    });
  } catch (...) {
    context.alerts.add_error(as_error(std::current_exception()));
  }
}

int64_t export_rows(const std::filesystem::path& home, const std::string& run, const std::string& table,
                    const std::filesystem::path& file) {
  const HistoryStore store(home);
  const auto reader = store.open_reader(run);
  std::filesystem::path partial = file;
  partial += ".part";
  int64_t rows = 0;
  try {
    std::ofstream out(partial, std::ios::binary | std::ios::trunc);
    if (!out) {
      throw Error(ErrorCode::Io, to_utf8(file) + " can't be written.",
                  "Check its folder and your permissions.");
    }
    rows = export_csv(*reader, table, out);
    out.close();
    if (!out)
      throw Error(ErrorCode::Io, to_utf8(file) + " could not be written to its end.", "Is the disk full?");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw;
  }
  rename_path(partial, file);
  return rows;
}

void export_rows_dialog(AppContext& context, const QStringList& runs, const QString& table, QWidget* parent) {
  if (runs.isEmpty()) return;
  const QString name = runs.size() == 1 ? runs.front() + QLatin1Char('-') + table : table;
  QString file =
      QFileDialog::getSaveFileName(parent, QDialog::tr("Export every row of %1").arg(table),
                                   export_folder(context) + QLatin1Char('/') + name + QStringLiteral(".csv"),
                                   QStringLiteral("CSV (*.csv)"));
  if (file.isEmpty()) return;
  file = with_ending(file, QStringLiteral("csv"));
  remember_folder(context, file);
  std::vector<std::pair<std::string, std::filesystem::path>> files;
  for (const QString& run : runs) {
    const QString one =
        runs.size() == 1 ? file : file.chopped(4) + QLatin1Char('-') + run + QStringLiteral(".csv");
    files.emplace_back(to_std(run), to_path(one));
  }
  run_export(context, [home = context.home, table = to_std(table), files, file] {
    int64_t rows = 0;
    for (const auto& [run, path] : files) rows += export_rows(home, run, table, path);
    return QDialog::tr("%1 rows are in %2.").arg(count_text(rows), file);
  });
}

}  // namespace lathe::ui
