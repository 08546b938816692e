// An exclusive lock on a file, held by a process and released by the system when it dies, however it dies.
// It marks the one writer of a run or dataset; whether the lock is taken is how others see that it lives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lathe {

class FileLock {
 public:
  // Takes the lock, creating the file when missing; nothing when somebody else holds it (another process, or
  // another FileLock of this one). Throws Io, or Unsupported when the file system has no locks.
  static std::optional<FileLock> try_acquire(const std::filesystem::path& path);

  // Whether somebody holds it now. A missing file is not held. Creates nothing.
  static bool is_held(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();  // releases; the file stays
  const std::filesystem::path& path() const { return path_; }

 private:
  FileLock(std::filesystem::path path, intptr_t handle);
  std::filesystem::path path_;
  intptr_t handle_ = -1;
};

}  // namespace lathe
