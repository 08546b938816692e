#include "ui/charts/tickers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace lathe::ui {
namespace {

constexpr double kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

// 1, 2 or 5 times a power of ten that divides `span` into about `count`.
double decimal_step(double span, int count) {
  const double rough = span / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

double time_step(double span_ms, int count) {
  static constexpr std::array steps = {kSecond, 2 * kSecond, 5 * kSecond, 10 * kSecond, 30 * kSecond,
                                       kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 30 * kMinute,
                                       kHour,   2 * kHour,   3 * kHour,   6 * kHour,    12 * kHour,
                                       kDay,    2 * kDay,    7 * kDay,    14 * kDay};
  const double rough = span_ms / count;
  if (rough < kSecond) return decimal_step(span_ms, count);
  const auto found = std::ranges::lower_bound(steps, rough);
  return found == steps.end() ? kDay * decimal_step(span_ms / kDay, count) : *found;
}

double byte_unit(double magnitude) {
  double unit = 1;
  while (magnitude >= unit * 1024 && unit < 1024.0 * 1024 * 1024 * 1024) unit *= 1024;
  return unit;
}

int decimals(double step) {
  return std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
}

QString scaled(double tick, double step, double unit, const char* name) {
  QString text = QLocale().toString(tick / unit, 'f', decimals(step / unit));
  if (*name != '\0') text += QChar(0x2009) + QString::fromLatin1(name);
  return text;
}

}  // namespace

QuantityTicker::QuantityTicker(Quantity quantity) : quantity_(quantity) {
  setTickCount(5);
}

double QuantityTicker::getTickStep(const QCPRange& range) {
  const double span = std::max(range.size(), 1e-12);
  top_ = std::max(std::abs(range.lower), std::abs(range.upper));
  switch (quantity_) {
    case Quantity::Bytes: {
      const double unit = byte_unit(top_);
      step_ = unit * decimal_step(span / unit, tickCount());
      break;
    }
    case Quantity::Milliseconds:
    case Quantity::WallTime:
      step_ = time_step(span, tickCount());
      break;
    case Quantity::Count:
    case Quantity::Plain:
      step_ = decimal_step(span, tickCount());
      break;
  }
  return step_;
}

int QuantityTicker::getSubTickCount(double) {
  return 0;
}

QString QuantityTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
  if (std::abs(tick) < step_ * 1e-6) tick = 0;
  const double magnitude = std::max(std::abs(tick), step_);
  switch (quantity_) {
    case Quantity::Plain:
      if (magnitude < 1e-3 || magnitude >= 1e6)
        return tick == 0 ? QStringLiteral("0") : QLocale().toString(tick, 'g', 3);
      return QLocale().toString(tick, 'f', decimals(step_));
    case Quantity::Count:
      if (tick == 0) return QStringLiteral("0");
      if (top_ >= 1e9) return scaled(tick, step_, 1e9, "B");
      if (top_ >= 1e6) return scaled(tick, step_, 1e6, "M");
      if (top_ >= 1e4) return scaled(tick, step_, 1e3, "k");
      return QLocale().toString(tick, 'f', decimals(step_));
    case Quantity::Bytes: {
      const double unit = byte_unit(top_);
      const char* name = unit < 1024                          ? "B"
                         : unit < 1024.0 * 1024               ? "KiB"
                         : unit < 1024.0 * 1024 * 1024        ? "MiB"
                         : unit < 1024.0 * 1024 * 1024 * 1024 ? "GiB"
                                                              : "TiB";
      return tick == 0 ? QStringLiteral("0") : scaled(tick, step_, unit, name);
    }
    case Quantity::Milliseconds:
      return tick == 0 ? QStringLiteral("0") : quantity_text(tick, quantity_);
    case Quantity::WallTime: {
      const QDateTime time = QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(tick));
      if (step_ >= kDay) return QLocale().toString(time.date(), QLocale::ShortFormat);
      return time.toString(step_ >= kMinute ? QStringLiteral("ddd HH:mm") : QStringLiteral("HH:mm:ss"));
    }
  }
  return {};
}

QVector<double> LogTicker::createTickVector(double, const QCPRange& range) {
  QVector<double> ticks;
  if (range.lower <= 0) return ticks;
  const double decades = std::log10(range.upper / range.lower);
  if (decades < 0.7) {  // nearly linear: round steps read best
    const double step = decimal_step(range.size(), tickCount());
    for (double tick = std::ceil(range.lower / step) * step; tick <= range.upper; tick += step) ticks << tick;
    return ticks;
  }
  static constexpr std::array few = {1.0};
  static constexpr std::array some = {1.0, 3.0};
  static constexpr std::array many = {1.0, 2.0, 3.0, 5.0, 7.0};
  const std::span<const double> leads = decades > 5   ? std::span<const double>(few)
                                        : decades > 2 ? std::span<const double>(some)
                                                      : many;
  const int skip = decades > 12 ? 3 : 1;
  for (int power = static_cast<int>(std::floor(std::log10(range.lower))); std::pow(10, power) <= range.upper;
       power += skip) {
    for (const double lead : leads) ticks << lead * std::pow(10, power);
  }
  return ticks;
}

QString LogTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
  return quantity_text(tick, quantity_);
}

}  // namespace lathe::ui
