// Whole numbers as people write them. k, M, G and T are binary in Lathe, for tokens and bytes alike:
// 4k = 4KiB = 4096, 1M = 1048576, 1.5GiB. Powers of ten are written with an exponent: 20e9.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

// Parses 4096, 4k, 1M, 15GiB, 1.5GiB, 2e9. With a suffix the result is rounded to the nearest whole number;
// without one it must be whole. Throws InvalidConfig on anything else: empty text, 15GB (ambiguous),
// 2.5, overflow.
std::int64_t parse_whole_number(std::string_view text);

// Bytes with the largest binary unit that divides them: 512MiB, 15GiB, 1000.
std::string format_bytes(std::int64_t bytes);

// The shortest text that reads back as the same double: 0.1, 10000, 3e-4. Locale-independent.
std::string format_real(double value);

// Throws InvalidConfig unless the whole of `text` is a finite number.
double parse_real(std::string_view text);

}  // namespace lathe
