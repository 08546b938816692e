// The driver's stable C interface, as far as it is used: needs no toolkit.
#include "kernels/cuda/pinned_memory.h"

#include <cstddef>
#include <vector>

#include "kernels/cuda/shared_library.h"

namespace lathe {

std::optional<int64_t> pinnable_bytes(int64_t most, int device) {
  const SharedLibrary driver = open_shared_library(kDriverLibrary, LibraryScope::Global);
  if (!driver.handle) return std::nullopt;
  const auto initialise = reinterpret_cast<int (*)(unsigned)>(find_symbol(driver, "cuInit"));
  const auto find = reinterpret_cast<int (*)(int*, int)>(find_symbol(driver, "cuDeviceGet"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(find_symbol(driver, "cuDevicePrimaryCtxRetain"));
  const auto release = reinterpret_cast<int (*)(int)>(find_symbol(driver, "cuDevicePrimaryCtxRelease_v2"));
  const auto use = reinterpret_cast<int (*)(void*)>(find_symbol(driver, "cuCtxSetCurrent"));
  const auto allocate =
      reinterpret_cast<int (*)(void**, size_t, unsigned)>(find_symbol(driver, "cuMemHostAlloc"));
  const auto free = reinterpret_cast<int (*)(void*)>(find_symbol(driver, "cuMemFreeHost"));
  if (!initialise || !find || !retain || !release || !use || !allocate || !free) return std::nullopt;
  int handle = 0;
  void* context = nullptr;
  if (initialise(0) != 0 || find(&handle, device) != 0 || retain(&context, handle) != 0) return std::nullopt;
  int64_t held = 0;
  if (use(context) == 0) {
    constexpr int64_t piece = int64_t{64} << 20;
    std::vector<void*> pieces;
    for (void* memory = nullptr; held + piece <= most && allocate(&memory, piece, 0) == 0; held += piece)
      pieces.push_back(memory);
    for (void* memory : pieces) free(memory);
  }
  release(handle);
  return held;
}

}  // namespace lathe
