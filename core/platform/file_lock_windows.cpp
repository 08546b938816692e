// file_lock.h for Windows: LockFileEx on one byte far beyond the end, so that the file's content stays
// readable.
#include <windows.h>

#include <utility>

#include "core/platform/file_lock.h"
#include "core/platform/files.h"
#include "core/platform/system_error.h"

namespace lathe {

FileLock::FileLock(std::filesystem::path path, intptr_t handle) : path_(std::move(path)), handle_(handle) {}

static HANDLE open_lock_file(const std::filesystem::path& path, DWORD access, DWORD creation) {
  return CreateFileW(path.c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                     creation, FILE_ATTRIBUTE_NORMAL, nullptr);
}

static bool lock_byte(HANDLE handle, DWORD flags) {
  OVERLAPPED where{};
  where.OffsetHigh = 0x40000000;
  return LockFileEx(handle, flags | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where) != 0;
}

std::optional<FileLock> FileLock::try_acquire(const std::filesystem::path& path) {
  const HANDLE handle = open_lock_file(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS);
  if (handle == INVALID_HANDLE_VALUE) throw_last_system_error("create the lock file " + to_utf8(path));
  // is_held() takes the lock for a moment: one refusal isn't an answer yet.
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (lock_byte(handle, LOCKFILE_EXCLUSIVE_LOCK)) return FileLock(path, reinterpret_cast<intptr_t>(handle));
    Sleep(1);
  }
  const bool locked = lock_byte(handle, LOCKFILE_EXCLUSIVE_LOCK);
  if (locked) return FileLock(path, reinterpret_cast<intptr_t>(handle));
  const DWORD error = GetLastError();
  CloseHandle(handle);
  if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING) return std::nullopt;
  throw_system_error("lock " + to_utf8(path), static_cast<int>(error));
}

bool FileLock::is_held(const std::filesystem::path& path) {
  const HANDLE handle = open_lock_file(path, GENERIC_READ, OPEN_EXISTING);
  if (handle == INVALID_HANDLE_VALUE) {
    const DWORD error = GetLastError();
    if (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND) return false;
    throw_system_error("open the lock file " + to_utf8(path), static_cast<int>(error));
  }
  const bool free = lock_byte(handle, 0);
  const DWORD error = free ? 0 : GetLastError();
  CloseHandle(handle);
  if (!free && error != ERROR_LOCK_VIOLATION && error != ERROR_IO_PENDING) {
    throw_system_error("ask for the lock of " + to_utf8(path), static_cast<int>(error));
  }
  return !free;
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  return *this;
}

FileLock::~FileLock() {
  if (handle_ != -1) CloseHandle(reinterpret_cast<HANDLE>(handle_));
}

}  // namespace lathe
