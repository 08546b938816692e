// file_system.h for Linux: the mount table names the file system, a trial shows what it can do.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "core/platform/file_lock.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

namespace {

// /proc/mounts writes space, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3') {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Mount {
  std::string device, folder, kind, options;
};

// The mount with the longest folder that is a prefix of `path`; of equal ones the last, which hides the
// others.
Mount mount_of(const fs::path& path) {
  std::ifstream table("/proc/self/mounts");
  Mount best;
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    Mount mount;
    fields >> mount.device >> mount.folder >> mount.kind >> mount.options;
    mount.folder = unescape(mount.folder);
    const fs::path folder(mount.folder);
    const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    const bool holds = end == folder.end() || mount.folder == "/";
    if (holds && mount.folder.size() >= best.folder.size()) best = mount;
  }
  return best;
}

bool is_network_kind(std::string_view kind) {
  static constexpr std::array kinds = {"nfs",    "nfs4",  "cifs",       "smb3",        "smbfs",
                                       "afs",    "ceph",  "fuse.sshfs", "glusterfs",   "fuse.glusterfs",
                                       "lustre", "ncpfs", "davfs",      "fuse.rclone", "fuse.s3fs",
                                       "beegfs", "gpfs",  "ocfs2"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool shared_memory_works(const fs::path& file) {
  const int handle = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (handle < 0) return false;
  bool works = ::ftruncate(handle, 4096) == 0;
  if (works) {
    void* data = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    works = data != MAP_FAILED;
    if (works) ::munmap(data, 4096);
  }
  ::close(handle);
  return works;
}

}  // namespace

FileSystemTraits file_system_traits(const fs::path& folder) {
  std::error_code error;
  fs::path existing = fs::absolute(folder, error);
  while (!fs::is_directory(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();
  existing = fs::canonical(existing, error);
  if (error) {
    throw Error(ErrorCode::Io, "Could not look at " + to_utf8(folder) + ": " + error.message() + ".",
                "Check the path.");
  }
  const Mount mount = mount_of(existing);
  FileSystemTraits traits;
  traits.kind = mount.kind;
  traits.mount = mount.folder;
  // WSL shows Windows' drives as 9p or virtiofs with drvfs in device or options; a 9p elsewhere is a virtual
  // machine's shared folder, whose other side is another kernel just the same.
  const bool drvfs = mount.device.find("drvfs") != std::string::npos ||
                     mount.options.find("drvfs") != std::string::npos || mount.kind == "drvfs";
  traits.is_windows_mounted = drvfs;
  traits.is_network =
      is_network_kind(mount.kind) || (!drvfs && (mount.kind == "9p" || mount.kind == "virtiofs"));

  if (::access(existing.c_str(), W_OK) == 0) {
    const fs::path trial = existing / (".lathe-trial-" + unique_name());
    try {
      const std::optional<FileLock> lock = FileLock::try_acquire(trial);
      traits.supports_locks = lock.has_value() && FileLock::is_held(trial);
      traits.supports_shared_memory = shared_memory_works(trial);
    } catch (const Error&) {
      traits.supports_locks = false;
    }
    fs::remove(trial, error);
  }
  return traits;
}

}  // namespace lathe
