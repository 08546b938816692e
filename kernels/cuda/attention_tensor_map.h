// Tensor maps for the copy engine over [B,T,heads,D] views.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/attention_own.h"

namespace lathe::attention {

// Dimensions (column, head, row, batch), box 64 × 1 × box_rows × 1 in the 128-byte swizzle; reads outside
// give 0.
CUtensorMap head_tensor_map(const void* data, const AttentionShape& shape, int64_t heads, int64_t row_stride,
                            int box_rows);

}  // namespace lathe::attention
