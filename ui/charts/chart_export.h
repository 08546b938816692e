// Charts as files: PNG at 1 to 4 times the size, SVG, PDF. Several charts stand under one another on one
// picture.
#pragma once

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

// Writes the picture; a file there is replaced only when the new one is complete. Throws Error
// InvalidArgument for no chart or a scale out of range, Io when the file can't be written.
void export_picture(const std::vector<Chart*>& charts, const PictureOptions& options,
                    const std::filesystem::path& file);

}  // namespace lathe::ui
