// Nearest code of bitsandbytes' dynamic maps without a search: the upper bits of a magnitude pick a bin no
// wider than a cell of the map, the bin's table entry names the code at its lower edge, and one midpoint
// settles the rest. Gives the very code of nearest_code() in kernels/api/numerics.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/api/numerics.h"

namespace lathe::cuda {

// Bins: 7 bits of mantissa in each binade of [2^-24, 1), then one for 1. What is smaller is nearest to zero.
inline constexpr int kBinShift = 16, kFirstBin = (127 - 24) << 7, kBins = 24 * 128 + 1;

// What one map needs, in the order the kernel wants it. `codes` count from zero's code upwards; a negative
// value of the signed map takes its mirror image.
struct QuantiseTable {
  float values[256];         // of each code
  float midpoints[256];      // between magnitude code k and k + 1; +infinity behind the last
  uint8_t codes[kBins + 3];  // magnitude code at each bin's lower edge; padded to whole words
};

// Host only. Each bin holds at most one midpoint, which makes a single comparison exact.
inline QuantiseTable make_quantise_table(bool is_signed) {
  const DynamicMap map = make_dynamic_map(is_signed);
  const int zero = is_signed ? kSignedZeroCode : 0, last = 255 - zero;
  QuantiseTable table{};
  for (int i = 0; i < 256; ++i) table.values[i] = map.values[i];
  for (int k = 0; k < 256; ++k) table.midpoints[k] = k < last ? map.midpoints[zero + k] : INFINITY;
  for (int bin = 0; bin < kBins; ++bin) {
    const float edge = bin == 0 ? 0.0f : float_from_bits(static_cast<uint32_t>(bin + kFirstBin) << kBinShift);
    table.codes[bin] = static_cast<uint8_t>(nearest_code(map.midpoints, edge) - zero);
  }
  return table;
}

LATHE_HOST_DEVICE int bin_of(float magnitude) {
  const int bin = static_cast<int>(float_bits(magnitude) >> kBinShift) - kFirstBin;
  return bin < 0 ? 0 : bin < kBins ? bin : kBins - 1;
}

// x in [0, 1].
LATHE_HOST_DEVICE int unsigned_code(const QuantiseTable& table, float x) {
  const int code = table.codes[bin_of(x)];
  return code + (x > table.midpoints[code] ? 1 : 0);
}

// x in [−1, 1]. A midpoint goes to the lower code: for a negative value the larger magnitude. A negative
// value never becomes zero, and −1 has no code of its own.
LATHE_HOST_DEVICE int signed_code(const QuantiseTable& table, float x) {
  const float magnitude = float_from_bits(float_bits(x) & 0x7fffffffu);  // also of −0
  int code = table.codes[bin_of(magnitude)];
  const float midpoint = table.midpoints[code];
  code += magnitude > midpoint || (x < 0.0f && magnitude == midpoint) ? 1 : 0;
  if (!(x < 0.0f)) return kSignedZeroCode + code;
  code = kSignedZeroCode - (code > 1 ? code : 1);
  return code > 0 ? code : 0;
}

}  // namespace lathe::cuda
