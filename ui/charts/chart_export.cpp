#include "ui/charts/chart_export.h"

#include <QBuffer>
#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QPicture>
#include <QSvgGenerator>

#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "ui/charts/chart.h"

namespace lathe::ui {
namespace {

constexpr int kGap = 16;

QSize page_size(const std::vector<Chart*>& charts, const QSize& size) {
  const int count = static_cast<int>(charts.size());
  return {size.width(), size.height() * count + kGap * (count - 1)};
}

QByteArray png(const std::vector<Chart*>& charts, const PictureOptions& options) {
  const QSize all = page_size(charts, options.size);
  QImage page((QSizeF(all) * options.scale).toSize(), QImage::Format_RGB32);
  page.setDevicePixelRatio(options.scale);
  int top = 0;
  {
    QPainter painter(&page);
    for (Chart* chart : charts) {
      QImage picture = chart->picture(options.size, options.scale);
      picture.setDevicePixelRatio(options.scale);  // else the page shows its upper left part, enlarged
      if (top == 0) page.fill(picture.pixel(0, 0));
      painter.drawImage(QPoint(0, top), picture);
      top += options.size.height() + kGap;
    }
  }
  page.setDotsPerMeterX(static_cast<int>(3780 * options.scale));
  page.setDotsPerMeterY(static_cast<int>(3780 * options.scale));
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!page.save(&buffer, "PNG")) {
    throw Error(ErrorCode::OutOfMemory, "The picture could not be made.", "Choose a smaller scale.");
  }
  return bytes;
}

// Each chart is recorded first: QCustomPlot paints onto a device of its own, not into a part of one.
void replay(const std::vector<Chart*>& charts, const PictureOptions& options, QPainter& painter) {
  int top = 0;
  for (Chart* chart : charts) {
    QPicture recorded;
    chart->paint_picture(recorded, options.size);
    painter.drawPicture(0, top, recorded);
    top += options.size.height() + kGap;
  }
}

QByteArray svg(const std::vector<Chart*>& charts, const PictureOptions& options) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(page_size(charts, options.size));
  generator.setViewBox(QRect(QPoint(0, 0), page_size(charts, options.size)));
  generator.setTitle(charts.front()->info().title);
  generator.setDescription(charts.front()->summary());
  QPainter painter(&generator);
  replay(charts, options, painter);
  painter.end();
  return bytes;
}

QByteArray pdf(const std::vector<Chart*>& charts, const PictureOptions& options) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  constexpr double points_per_pixel = 0.75;
  const QSize all = page_size(charts, options.size);
  writer.setResolution(96);
  writer.setPageSize(QPageSize(QSizeF(all) * points_per_pixel, QPageSize::Point));
  writer.setPageMargins(QMarginsF(0, 0, 0, 0));
  writer.setTitle(charts.front()->info().title);
  QPainter painter(&writer);
  replay(charts, options, painter);
  painter.end();
  return bytes;
}

}  // namespace

void export_picture(const std::vector<Chart*>& charts, const PictureOptions& options,
                    const std::filesystem::path& file) {
  if (charts.empty()) throw Error(ErrorCode::InvalidArgument, "There is no chart to export.");
  if (!(options.scale >= 1 && options.scale <= 4)) {
    throw Error(ErrorCode::InvalidArgument, "Pictures are made at 1 to 4 times their size.");
  }
  const QByteArray bytes = options.format == PictureFormat::Png   ? png(charts, options)
                           : options.format == PictureFormat::Svg ? svg(charts, options)
                                                                  : pdf(charts, options);
  write_file_atomically(file, std::string_view(bytes.constData(), static_cast<size_t>(bytes.size())));
}

}  // namespace lathe::ui
