// Numbers with units, as charts and tables write them.
#include <QLocale>
#include <algorithm>
#include <cmath>

#include "ui/charts/chart_types.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString with_unit(const QString& number, const QString& unit) {
  if (unit == QLatin1String("%") || unit.isEmpty()) return number + unit;
  return number + QLatin1Char(' ') + unit;
}

// Four significant digits, no trailing zeros, no exponent in the range people read.
QString plain_text(double value) {
  const double magnitude = std::abs(value);
  const QLocale locale;
  if (value == 0) return locale.toString(0);
  if (magnitude >= 1e7 || magnitude < 1e-3) return locale.toString(value, 'g', 4);
  const int digits = static_cast<int>(std::floor(std::log10(magnitude)));
  QString text = locale.toString(value, 'f', std::clamp(3 - digits, 0, 6));
  const QString point = locale.decimalPoint();
  if (text.contains(point)) {
    while (text.endsWith(locale.zeroDigit())) text.chop(1);
    if (text.endsWith(point)) text.chop(point.size());
  }
  return text;
}

}  // namespace

Quantity quantity_of_unit(const QString& unit) {
  if (unit == QLatin1String("bytes")) return Quantity::Bytes;
  if (unit == QLatin1String("ms")) return Quantity::Milliseconds;
  if (unit == QLatin1String("ms since 1970 (UTC)")) return Quantity::WallTime;
  if (unit == QLatin1String("tokens") || unit == QLatin1String("tokens/s") ||
      unit == QLatin1String("updates")) {
    return Quantity::Count;
  }
  return Quantity::Plain;
}

QString quantity_text(double value, Quantity quantity, const QString& unit) {
  if (std::isnan(value)) return QStringLiteral("NaN");
  if (std::isinf(value)) return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
  switch (quantity) {
    case Quantity::Plain:
      return with_unit(plain_text(value), unit);
    case Quantity::Count:
      // Below ten million every digit stays: a step is read, not estimated.
      if (std::abs(value) >= 1e7) return with_unit(short_count_text(value), unit);
      if (std::abs(value) >= 1000) return with_unit(count_text(std::llround(value)), unit);
      return with_unit(plain_text(value), unit);
    case Quantity::Bytes:
      return bytes_text(std::llround(value));
    case Quantity::Milliseconds:
      return duration_text(value / 1000);
    case Quantity::WallTime:
      return date_time_text(std::llround(value));
  }
  return {};
}

}  // namespace lathe::ui
