// file_lock.h for POSIX: flock, which belongs to the open file, so that two locks in one process exclude each
// other as two processes do, and closing some other handle of the file doesn't release it (fcntl's locks
// would).
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "core/platform/file_lock.h"
#include "core/platform/files.h"
#include "core/platform/system_error.h"

namespace lathe {

FileLock::FileLock(std::filesystem::path path, intptr_t handle) : path_(std::move(path)), handle_(handle) {}

// 0 when taken, else errno.
static int lock_without_waiting(int handle) {
  while (::flock(handle, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::optional<FileLock> FileLock::try_acquire(const std::filesystem::path& path) {
  const int handle = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (handle < 0) throw_last_system_error("create the lock file " + to_utf8(path));
  // is_held() takes the lock for a moment: one refusal isn't an answer yet.
  int error = lock_without_waiting(handle);
  for (int attempt = 0; error == EWOULDBLOCK && attempt < 5; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    error = lock_without_waiting(handle);
  }
  if (error == 0) return FileLock(path, handle);
  ::close(handle);
  if (error == EWOULDBLOCK) return std::nullopt;
  throw_system_error("lock " + to_utf8(path), error);
}

bool FileLock::is_held(const std::filesystem::path& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_last_system_error("open the lock file " + to_utf8(path));
  }
  // A shared lock: two askers at once don't take each other for the holder.
  int result = 0;
  do {
    result = ::flock(handle, LOCK_SH | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  const int error = result == 0 ? 0 : errno;
  ::close(handle);
  if (error != 0 && error != EWOULDBLOCK) throw_system_error("ask for the lock of " + to_utf8(path), error);
  return error == EWOULDBLOCK;
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  return *this;
}

FileLock::~FileLock() {
  if (handle_ != -1) ::close(static_cast<int>(handle_));
}

}  // namespace lathe
