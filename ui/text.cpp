#include "ui/text.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <array>
#include <cmath>

#include "core/config/size_text.h"
#include "core/platform/files.h"

namespace lathe::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("Text", text);
}

// Three significant digits: 9.77, 97.7, 977.
QString three_digits(double value) {
  const double magnitude = std::abs(value);
  // 999.5 and more would round to a fourth digit.
  return QLocale().toString(value, 'f', magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0);
}

// "20.0" as "20", "1.50" as "1.5".
QString without_zeros(QString number) {
  const QString point = QLocale().decimalPoint();
  if (!number.contains(point)) return number;
  while (number.endsWith(QLocale().zeroDigit())) number.chop(1);
  if (number.endsWith(point)) number.chop(point.size());
  return number;
}

}  // namespace

QString to_qt(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

QString to_qt(const std::filesystem::path& path) {
  return to_qt(std::string_view(to_utf8(path)));
}

std::string to_std(const QString& text) {
  return text.toStdString();
}

std::filesystem::path to_path(const QString& text) {
  return from_utf8(text.toStdString());
}

QString count_text(int64_t count) {
  return QLocale().toString(static_cast<qlonglong>(count));
}

QString short_count_text(double count) {
  const double magnitude = std::abs(count);
  if (magnitude < 1e3) {
    return count == std::floor(count) ? QLocale().toString(count, 'f', 0) : three_digits(count);
  }
  static constexpr std::array<const char*, 4> suffixes = {"k", "M", "B", "T"};
  double scaled = count / 1e3;
  size_t index = 0;
  while (std::abs(scaled) >= 999.5 && index + 1 < suffixes.size()) {
    scaled /= 1e3;
    ++index;
  }
  return without_zeros(three_digits(scaled)) + QChar(0x00A0) + QLatin1String(suffixes[index]);
}

QString bytes_text(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (std::abs(value) < 1024) return tr("%1 B").arg(count_text(bytes));
  static constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
  double scaled = value / 1024;
  size_t index = 0;
  while (std::abs(scaled) >= 999.5 && index + 1 < units.size()) {
    scaled /= 1024;
    ++index;
  }
  return three_digits(scaled) + QChar(0x00A0) + QLatin1String(units[index]);
}

QString number_text(double value, int decimals) {
  if (!std::isfinite(value)) return std::isnan(value) ? tr("NaN") : value > 0 ? tr("Inf") : tr("-Inf");
  return QLocale().toString(value, 'f', decimals);
}

QString real_text(double value) {
  return to_qt(format_real(value));
}

QString duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return no_value();
  if (seconds < 1) return tr("%1 ms").arg(std::lround(seconds * 1e3));
  if (seconds < 59.95) return tr("%1 s").arg(number_text(seconds, 1));
  const auto whole = static_cast<qlonglong>(std::llround(seconds));
  const qlonglong days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60,
                  rest = whole % 60;
  if (days > 99) return tr("%1 d").arg(QLocale().toString(days));
  if (days > 0) return tr("%1 d %2 h").arg(days).arg(hours);
  if (hours > 0) return tr("%1 h %2 min").arg(hours).arg(minutes, 2, 10, QLatin1Char('0'));
  return tr("%1 min %2 s").arg(minutes).arg(rest, 2, 10, QLatin1Char('0'));
}

QString date_time_text(int64_t wall_ms) {
  return QLocale().toString(QDateTime::fromMSecsSinceEpoch(wall_ms), QStringLiteral("yyyy-MM-dd HH:mm:ss"));
}

QString percent_text(double fraction, int decimals) {
  return tr("%1%").arg(number_text(fraction * 100, decimals));
}

QString counted_text(int64_t count, const QString& one, const QString& many) {
  return count == 1 ? one : many.arg(count_text(count));
}

QString sentence_text(const QString& text) {
  if (text.isEmpty()) return text;
  const QChar last = text.back();
  const bool whole = last == QLatin1Char('.') || last == QLatin1Char('?') || last == QChar(0x2026);
  return text.front().toUpper() + text.mid(1) + (whole ? QString() : QStringLiteral("."));
}

QString no_value() {
  return QString(QChar(0x2013));
}

}  // namespace lathe::ui
