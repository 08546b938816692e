// files.h for Linux and other POSIX systems.
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/platform/child_process.h"
#include "core/platform/files.h"
#include "core/platform/home.h"
#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

void sync_folder(const fs::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) throw_last_system_error("open the folder " + to_utf8(folder));
  const int result = ::fsync(handle);
  const int error = errno;
  ::close(handle);
  // Some file systems (FUSE, network shares) can't flush a folder; its entries are then as safe as they get.
  if (result != 0 && error != EINVAL && error != ENOSYS && error != EBADF && error != ENOTSUP) {
    throw_system_error("flush the folder " + to_utf8(folder), error);
  }
}

void rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw_last_system_error("rename " + to_utf8(from) + " to " + to_utf8(to));
  }
}

DurableFile::DurableFile(const fs::path& path, Open mode) : path_(path) {
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
  if (mode == Open::CreateNew) flags |= O_EXCL;
  if (mode == Open::Truncate) flags |= O_TRUNC;
  if (mode == Open::Append) flags |= O_APPEND;
  const int handle = ::open(path.c_str(), flags, 0644);
  if (handle < 0) throw_last_system_error("create " + to_utf8(path));
  handle_ = handle;
  struct stat status {};
  if (::fstat(handle, &status) == 0) size_ = status.st_size;
}

DurableFile::~DurableFile() {
  if (is_open()) ::close(static_cast<int>(handle_));
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(static_cast<int>(handle_), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_last_system_error("write " + to_utf8(path_));
    }
    size_ += written;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void DurableFile::sync() {
  if (::fsync(static_cast<int>(handle_)) != 0) throw_last_system_error("flush " + to_utf8(path_));
}

void DurableFile::close() {
  if (!is_open()) return;
  const int handle = static_cast<int>(handle_);
  handle_ = -1;
  if (::close(handle) != 0 && errno != EINTR) throw_last_system_error("close " + to_utf8(path_));
}

fs::path platform_home() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && fs::path(data).is_absolute()) {
    return fs::path(data) / "lathe";
  }
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".local/share/lathe";
  if (const passwd* user = ::getpwuid(::getuid()); user && user->pw_dir && *user->pw_dir) {
    return fs::path(user->pw_dir) / ".local/share/lathe";
  }
  throw Error(ErrorCode::NotFound, "The system names no home folder for this user.",
              "Set HOME, LATHE_HOME, or pass --home FOLDER.");
}

fs::path executable_folder() {
  return this_program().parent_path();
}

}  // namespace lathe
