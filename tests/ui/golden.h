// Pictures compared with golden ones by the means of their blocks: what moves, vanishes or changes its colour
// is seen, how a letter is drawn is not. A golden is a PNG with a pixel a block. To renew them all, after
// looking at the new pictures (LATHE_PICTURES=FOLDER writes them):
//   LATHE_RENEW_GOLDENS=1 build/…/bin/ui_places_test    (without QT_QPA_PLATFORM: ui_main.cpp)
#pragma once

#include <gtest/gtest.h>

#include <QDir>
#include <QImage>
#include <QString>
#include <algorithm>
#include <cmath>

namespace lathe::ui {

// One pixel for each `block` × `block` pixels of the picture.
inline QImage block_means(const QImage& picture, int block) {
  const QImage source = picture.convertToFormat(QImage::Format_RGB32);
  QImage means((source.width() + block - 1) / block, (source.height() + block - 1) / block,
               QImage::Format_RGB32);
  for (int row = 0; row < means.height(); ++row) {
    for (int column = 0; column < means.width(); ++column) {
      int64_t red = 0, green = 0, blue = 0, count = 0;
      for (int y = row * block; y < std::min((row + 1) * block, source.height()); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(source.constScanLine(y));
        for (int x = column * block; x < std::min((column + 1) * block, source.width()); ++x, ++count) {
          red += qRed(line[x]);
          green += qGreen(line[x]);
          blue += qBlue(line[x]);
        }
      }
      means.setPixel(column, row,
                     qRgb(static_cast<int>(red / count), static_cast<int>(green / count),
                          static_cast<int>(blue / count)));
    }
  }
  return means;
}

// Empty when they are alike, else what differs. The bounds let pass a name of other letters, a second more or
// less, another version of the rasteriser; a button that went away or a card that moved is far beyond them.
inline QString difference(const QImage& means, const QImage& golden) {
  constexpr int worst_allowed = 28;
  constexpr double mean_allowed = 1.2;
  if (means.size() != golden.size()) return QStringLiteral("another size");
  int worst = 0;
  QPoint where;
  double sum = 0;
  for (int y = 0; y < means.height(); ++y) {
    for (int x = 0; x < means.width(); ++x) {
      const QRgb a = means.pixel(x, y), b = golden.pixel(x, y);
      const int off = std::max(
          {std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)), std::abs(qBlue(a) - qBlue(b))});
      sum += off;
      if (off > worst) {
        worst = off;
        where = {x, y};
      }
    }
  }
  const double mean = sum / (static_cast<double>(means.width()) * means.height());
  if (worst <= worst_allowed && mean <= mean_allowed) return {};
  return QStringLiteral("block (%1, %2) is off by %3 of 255 (allowed %4), all by %5 (allowed %6)")
      .arg(where.x())
      .arg(where.y())
      .arg(worst)
      .arg(worst_allowed)
      .arg(mean, 0, 'f', 2)
      .arg(mean_allowed);
}

inline void expect_golden(const QImage& picture, int block, const QString& name) {
  const QString pictures = qEnvironmentVariable("LATHE_PICTURES");
  if (!pictures.isEmpty()) {
    QDir().mkpath(pictures);
    ASSERT_TRUE(picture.save(pictures + QLatin1Char('/') + name + QStringLiteral(".png")));
  }
  const QString folder = QStringLiteral(LATHE_SOURCE_DIR "/tests/ui/golden");
  const QString file = folder + QLatin1Char('/') + name + QStringLiteral(".png");
  const QImage means = block_means(picture, block);
  if (qEnvironmentVariableIsSet("LATHE_RENEW_GOLDENS")) {
    QDir().mkpath(folder);
    ASSERT_TRUE(means.save(file)) << file.toStdString();
    return;
  }
  const QImage golden(file);
  ASSERT_FALSE(golden.isNull()) << file.toStdString() << " is missing; see tests/ui/golden.h";
  const QString found = difference(means, golden.convertToFormat(QImage::Format_RGB32));
  EXPECT_TRUE(found.isEmpty())
      << name.toStdString() << ": " << found.toStdString()
      << ". Look at it with LATHE_PICTURES=FOLDER; tests/ui/golden.h says how to renew it.";
}

}  // namespace lathe::ui
