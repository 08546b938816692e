// POSIX: errno to Error.
#include <cerrno>
#include <system_error>

#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

int last_system_error() {
  return errno;
}

void throw_system_error(const std::string& action, int error) {
  const std::string what = "Could not " + action + ": " + std::generic_category().message(error) + ".";
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      throw Error(ErrorCode::DiskFull, what, "Free some space on that disk, or choose another folder.");
    case ENOENT:
    case ENOTDIR:
      throw Error(ErrorCode::NotFound, what, "Check the path.");
    case EACCES:
    case EPERM:
    case EROFS:
      throw Error(ErrorCode::Io, what, "Check who owns it and its permissions, or choose another folder.");
    case EMFILE:
    case ENFILE:
      throw Error(ErrorCode::Io, what, "Too many files are open; raise the limit (ulimit -n).");
    case ENOMEM:
      throw Error(ErrorCode::OutOfMemory, what, "Close other programs and try again.");
    case ENOLCK:
    case ENOTSUP:
    case ENOSYS:
      throw Error(ErrorCode::Unsupported, what, "Use a folder on a local disk.");
    default:
      throw Error(ErrorCode::Io, what, "Check the disk and the path, then try again.");
  }
}

}  // namespace lathe
