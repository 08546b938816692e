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

// 400 MB while it is painted; a whole board of charts at four times the size of a screen.
constexpr int64_t kMostPixels = 100'000'000;

QSize page_size(size_t charts, const QSize& size) {
  const int count = static_cast<int>(charts);
  return {size.width(), size.height() * count + kGap * (count - 1)};
}

QImage pixels(const std::vector<Chart*>& charts, const PictureOptions& options) {
  QImage page(picture_pixels(charts.size(), options), QImage::Format_RGB32);
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
  return page;
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
  generator.setSize(page_size(charts.size(), options.size));
  generator.setViewBox(QRect(QPoint(0, 0), page_size(charts.size(), options.size)));
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
  const QSize all = page_size(charts.size(), options.size);
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

QSize picture_pixels(size_t charts, const PictureOptions& options) {
  if (options.format != PictureFormat::Png) return {0, 0};
  return (QSizeF(page_size(charts, options.size)) * options.scale).toSize();
}

QString picture_hindrance(size_t charts, const PictureOptions& options) {
  if (charts == 0) return Chart::tr("There is no chart to export.");
  if (!(options.scale >= 1 && options.scale <= 4))
    return Chart::tr("Pictures are made at 1 to 4 times their size.");
  const QSize size = picture_pixels(charts, options);
  const int64_t count = int64_t{size.width()} * size.height();
  return count <= kMostPixels ? QString()
                              : Chart::tr(
                                    "%1 million pixels are too many: %2 million are the most. Choose a "
                                    "smaller scale or size, or vectors.")
                                    .arg(count / 1'000'000)
                                    .arg(kMostPixels / 1'000'000);
}

Picture paint_charts(const std::vector<Chart*>& charts, const PictureOptions& options) {
  const QString hindrance = picture_hindrance(charts.size(), options);
  if (!hindrance.isEmpty()) throw Error(ErrorCode::InvalidArgument, hindrance.toStdString());
  switch (options.format) {
    case PictureFormat::Png:
      return {pixels(charts, options), {}};
    case PictureFormat::Svg:
      return {{}, svg(charts, options)};
    case PictureFormat::Pdf:
      return {{}, pdf(charts, options)};
  }
  return {};
}

void write_picture(const Picture& picture, const std::filesystem::path& file) {
  QByteArray bytes = picture.vectors;
  if (!picture.pixels.isNull()) {
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    if (!picture.pixels.save(&buffer, "PNG")) bytes.clear();
  }
  if (bytes.isEmpty())
    throw Error(ErrorCode::OutOfMemory, "The picture could not be made.", "Choose a smaller scale.");
  write_file_atomically(file, std::string_view(bytes.constData(), static_cast<size_t>(bytes.size())));
}

}  // namespace lathe::ui
