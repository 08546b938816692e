// Sizes on which the planned workspaces (kernels/api/workspace.cpp) and the kernels must agree are stated
// there, in words; these are the kernels' constants of the same formulas.
#pragma once

#include <cstdint>

namespace lathe::cuda {

inline constexpr int64_t kNormChunk = 65536;  // gradient elements a block; one FP64 partial sum each

}  // namespace lathe::cuda
