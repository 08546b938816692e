// How much page-locked host memory the driver hands out. WSL stops at a fraction of the memory there is.
#pragma once

#include <cstdint>
#include <optional>

namespace lathe {

// Takes page-locked memory in pieces until `most` bytes are held or one is refused, frees it, and returns how
// much was held. Nothing: there is no driver or no such GPU. Starts the GPU, so call it where a crash does no
// harm.
std::optional<int64_t> pinnable_bytes(int64_t most, int device = 0);

}  // namespace lathe
