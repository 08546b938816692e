#include "core/config/size_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/config/text_util.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

constexpr std::int64_t kKibi = 1024;
constexpr std::int64_t kMebi = kKibi * 1024;
constexpr std::int64_t kGibi = kMebi * 1024;
constexpr std::int64_t kTebi = kGibi * 1024;

// What a suffix multiplies by; 0 when it is unknown.
std::int64_t multiplier(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "k" || suffix == "K" || suffix == "KiB" || suffix == "kiB") return kKibi;
  if (suffix == "M" || suffix == "MiB") return kMebi;
  if (suffix == "G" || suffix == "GiB") return kGibi;
  if (suffix == "T" || suffix == "TiB") return kTebi;
  return 0;
}

[[noreturn]] void reject(std::string_view text, std::string_view reason) {
  throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' {}.", text, reason),
              "Write a whole number such as 4096, 4k (4096), 1M (1048576), 1.5GiB or 2e9.");
}

template <class Number>
bool parse_all(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::int64_t parse_whole_number(std::string_view given) {
  const std::string_view text = trim(given);
  std::size_t digits = 0;
  while (digits < text.size()) {
    const char c = text[digits];
    // 'e' belongs to the number only with digits behind it.
    const bool exponent = (c == 'e' || c == 'E') && digits + 1 < text.size();
    if (!(is_digit(c) || c == '.' || c == '-' || c == '+' || exponent)) break;
    ++digits;
  }
  const std::string_view number = text.substr(0, digits);
  const std::string_view suffix = trim(text.substr(digits));
  if (suffix == "kB" || suffix == "KB" || suffix == "MB" || suffix == "GB" || suffix == "TB") {
    reject(given, "has an ambiguous unit: KiB, MiB, GiB and TiB are powers of 1024");
  }
  const std::int64_t factor = multiplier(suffix);
  if (factor == 0 || number.empty()) reject(given, "is not a whole number");

  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t whole = 0;
  if (parse_all(number, whole)) {
    if (whole > Limits::max() / factor || whole < Limits::min() / factor) reject(given, "is too large");
    return whole * factor;
  }
  double real = 0;
  if (!parse_all(number, real) || !std::isfinite(real)) {
    reject(given, "is not a whole number, or too large");
  }
  if (suffix.empty() && real != std::floor(real)) reject(given, "is not a whole number");
  const double product = std::round(real * static_cast<double>(factor));
  if (std::abs(product) >= 9.2e18) reject(given, "is too large");
  return static_cast<std::int64_t>(product);
}

std::string format_bytes(std::int64_t bytes) {
  struct Unit {
    std::int64_t size;
    const char* name;
  };
  constexpr std::array<Unit, 4> units = {{{kTebi, "TiB"}, {kGibi, "GiB"}, {kMebi, "MiB"}, {kKibi, "KiB"}}};
  for (const Unit& unit : units) {
    if (bytes != 0 && bytes % unit.size == 0) return fmt::format("{}{}", bytes / unit.size, unit.name);
  }
  return fmt::format("{}", bytes);
}

std::string format_real(double value) {
  // 500000, where the shortest text would be 5e5.
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  // 3e-04 as people write it: 3e-4.
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::string exponent = text.substr(e + 1);
  std::string sign;
  if (exponent.front() == '-') sign = "-";
  exponent.erase(0, std::min(exponent.find_first_not_of("+-0"), exponent.size() - 1));
  return text.substr(0, e + 1) + sign + exponent;
}

double parse_real(std::string_view given) {
  const std::string_view text = trim(given);
  double value = 0;
  if (!parse_all(text, value) || !std::isfinite(value)) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("'{}' is not a finite number.", given),
                "Write a number such as 0.1, 3e-4 or 10000.");
  }
  return value;
}

}  // namespace lathe
