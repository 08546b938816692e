// What the file system under a path can do: SQLite's WAL and OS locks need one kernel and a local disk.
#pragma once

#include <filesystem>
#include <string>

namespace lathe {

struct FileSystemTraits {
  std::string kind;         // the system's name: "ext4", "tmpfs", "nfs", "9p", "NTFS"
  std::string mount;        // where it is mounted; empty when unknown
  bool is_network = false;  // NFS, SMB, SSHFS, a mapped Windows share
  bool is_windows_mounted =
      false;  // a Windows drive seen from WSL (drvfs over 9p or virtiofs), or \\wsl$ from Windows
  bool supports_locks = true;          // an exclusive lock could be taken and was seen by a second handle
  bool supports_shared_memory = true;  // a shared writable map worked

  // True when a history (WAL, locks, one kernel) may live here.
  bool can_hold_history() const {
    return !is_network && !is_windows_mounted && supports_locks && supports_shared_memory;
  }
};

// Traits of the file system that holds `folder` (or its nearest existing parent). Locks and shared memory are
// tried with a temporary file when that folder is writable. Throws Io when the system gives no answer.
FileSystemTraits file_system_traits(const std::filesystem::path& folder);

}  // namespace lathe
