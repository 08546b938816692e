#include "core/history/reserve_file.h"

#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

void ReserveFile::take() {
  if (!is_taken()) create_reserved_file(path_, bytes);
}

bool ReserveFile::release() {
  std::error_code ignored;
  return std::filesystem::remove(path_, ignored);
}

bool ReserveFile::is_taken() const {
  std::error_code ignored;
  return std::filesystem::file_size(path_, ignored) == static_cast<uintmax_t>(bytes);
}

bool ReserveFile::take_when_there_is_room() {
  try {
    if (is_taken()) return true;
    if (free_disk_bytes(path_.parent_path()) < 4 * bytes) return false;
    release();
    take();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace lathe
