// Charts as files: PNG at 1 to 4 times the size, SVG, PDF. Several charts stand under one another on one
// picture.
#pragma once

#include <QByteArray>
#include <QImage>
#include <QSize>
#include <QString>
#include <filesystem>
#include <vector>

namespace lathe::ui {

class Chart;

enum class PictureFormat { Png, Svg, Pdf };

struct PictureOptions {
  PictureFormat format = PictureFormat::Png;
  QSize size{960, 480};  // of each chart, logical pixels
  double scale = 2;      // PNG only: 1 to 4
};

// Of all charts together; 0 pixels for vectors.
QSize picture_pixels(size_t charts, const PictureOptions& options);
// Why that picture can't be made, and what to do; empty: it can.
QString picture_hindrance(size_t charts, const PictureOptions& options);

// A picture that is painted, and only needs to be packed and written.
struct Picture {
  QImage pixels;
  QByteArray vectors;  // where there are no pixels
};
// On the GUI thread. Throws Error InvalidArgument for no chart, or with the hindrance.
Picture paint_charts(const std::vector<Chart*>& charts, const PictureOptions& options);
// On any thread: packing a large PNG takes seconds. A file there is replaced only when the new one is
// complete. Throws Error Io or DiskFull, or OutOfMemory.
void write_picture(const Picture& picture, const std::filesystem::path& file);

}  // namespace lathe::ui
