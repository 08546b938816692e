// Steps of the up and down keys: proportional to the value, on round numbers, so that one key serves layers
// and vocabulary, dropout and learning rate.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ui/forms/setting_editor.h"

namespace lathe::ui {
namespace {

int64_t whole_step(int64_t value) {
  const auto size = static_cast<uint64_t>(std::max<int64_t>(1, std::abs(value)));
  const int exponent = static_cast<int>(std::bit_width(size)) - 1;
  return int64_t{1} << std::max(0, exponent - 4);
}

int64_t clamped(int64_t value, const Range& range) {
  if (std::isfinite(range.low)) value = std::max(value, static_cast<int64_t>(std::ceil(range.low)));
  // 2^63 as a double is out of range for the cast.
  if (range.high < 9e18) value = std::min(value, static_cast<int64_t>(std::floor(range.high)));
  return value;
}

// One unit of the second significant digit.
double real_step(double value) {
  if (value == 0) return 0.1;
  return std::pow(10.0, std::floor(std::log10(std::abs(value)) + 1e-9) - 1);
}

}  // namespace

int64_t stepped_whole(int64_t value, int steps, const Range& range) {
  const int sign = steps < 0 ? -1 : 1;
  for (int i = 0; i < std::abs(steps); ++i) {
    // Downwards the step of the value below counts, so that up and down retrace each other.
    const int64_t step = whole_step(sign < 0 ? value - 1 : value);
    if (sign > 0 && value > std::numeric_limits<int64_t>::max() - step) break;
    const int64_t rest = ((value % step) + step) % step;
    value = sign > 0 ? value - rest + step : rest > 0 ? value - rest : value - step;
  }
  return clamped(value, range);
}

double stepped_real(double value, int steps, const Range& range) {
  const int sign = steps < 0 ? -1 : 1;
  for (int i = 0; i < std::abs(steps); ++i) {
    const double step = real_step(sign < 0 ? value * (1 - 1e-9) : value);
    value = std::round(value / step + sign) * step;
    // Rounds away what the product adds: 0.30000000000000004.
    if (value != 0) {
      const double scale = std::pow(10.0, 11 - std::floor(std::log10(std::abs(value))));
      if (std::isfinite(scale)) value = std::round(value * scale) / scale;
    }
  }
  value = std::max(value, range.low);
  const double high = range.high_open ? std::nextafter(range.high, range.low) : range.high;
  return std::min(value, high);
}

}  // namespace lathe::ui
