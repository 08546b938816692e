// Windows: GetLastError() to Error.
#include <windows.h>

#include <system_error>

#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

int last_system_error() {
  return static_cast<int>(GetLastError());
}

void throw_system_error(const std::string& action, int error) {
  const std::string what = "Could not " + action + ": " + std::system_category().message(error) + ".";
  switch (static_cast<DWORD>(error)) {
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
    case ERROR_FILE_TOO_LARGE:
      throw Error(ErrorCode::DiskFull, what, "Free some space on that disk, or choose another folder.");
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      throw Error(ErrorCode::NotFound, what, "Check the path.");
    case ERROR_ACCESS_DENIED:
    case ERROR_WRITE_PROTECT:
      throw Error(ErrorCode::Io, what, "Check its permissions, or choose another folder.");
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      throw Error(ErrorCode::Io, what, "Another program has it open; close that program and try again.");
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
      throw Error(ErrorCode::OutOfMemory, what, "Close other programs and try again.");
    case ERROR_NOT_SUPPORTED:
    case ERROR_INVALID_FUNCTION:
      throw Error(ErrorCode::Unsupported, what, "Use a folder on a local disk.");
    default:
      throw Error(ErrorCode::Io, what, "Check the disk and the path, then try again.");
  }
}

}  // namespace lathe
