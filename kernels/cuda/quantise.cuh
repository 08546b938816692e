// Nearest code of bitsandbytes' dynamic maps by arithmetic instead of a search: the maps are seven decades,
// each cut into equal parts, so that a logarithm finds the cell and its neighbours' midpoints settle the
// rest. Gives the very code of nearest_code() in kernels/api/numerics.h with two table reads instead of
// eight.
#pragma once

#include <cuda_runtime.h>

#include "kernels/api/numerics.h"

namespace lathe::cuda {

// Number of map values above zero and at most |x|'s cell: −1 means nearest to zero as far as the cells tell.
// parts_log2 of decade i is i (signed map) or i + 1 (unsigned).
__device__ inline int dynamic_cell(float magnitude, int extra_bit) {
  const int decade = min(max(static_cast<int>(floorf(__log2f(magnitude) * 0.30102999566f)) + 7, 0), 6);
  const float in_decade = magnitude * exp2f(static_cast<float>(6 - decade) * 3.32192809489f);  // 0.1 .. 1
  const int parts = 1 << (decade + extra_bit);
  const int cell = static_cast<int>(floorf((in_decade - 0.1f) * (static_cast<float>(parts) / 0.9f)));
  return (1 << (decade + extra_bit)) - (1 << extra_bit) + max(cell, -1);
}

// x in [0, 1]; midpoints of the unsigned map.
__device__ inline int unsigned_code(const float* midpoints, float x) {
  int code = min(max(dynamic_cell(x, 1) + 1, 0), 255);
  if (code < 255 && x > midpoints[code]) {
    ++code;
  } else if (code > 0 && !(x > midpoints[code - 1])) {
    --code;
  }
  return code;
}

// x in [−1, 1]; midpoints of the signed map. A negative value never becomes zero or positive.
__device__ inline int signed_code(const float* midpoints, float x) {
  const int cell = dynamic_cell(fabsf(x), 0);
  int code = x < 0.0f ? kSignedZeroCode - 1 - cell : kSignedZeroCode + 1 + cell;
  code = min(max(code, 0), 255);
  if (code < 255 && x > midpoints[code]) {
    ++code;
  } else if (code > 0 && !(x > midpoints[code - 1])) {
    --code;
  }
  return x < 0.0f ? min(code, kSignedZeroCode - 1) : code;
}

}  // namespace lathe::cuda
