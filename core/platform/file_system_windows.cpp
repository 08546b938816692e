// file_system.h for Windows: the volume names the file system, a trial shows what it can do.
#include <windows.h>

#include <array>

#include "core/platform/file_lock.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

static bool shared_memory_works(const fs::path& path) {
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return false;
  const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READWRITE, 0, 4096, nullptr);
  void* view = mapping ? MapViewOfFile(mapping, FILE_MAP_WRITE, 0, 0, 4096) : nullptr;
  if (view) UnmapViewOfFile(view);
  if (mapping) CloseHandle(mapping);
  CloseHandle(file);
  return view != nullptr;
}

FileSystemTraits file_system_traits(const fs::path& folder) {
  std::error_code error;
  fs::path existing = fs::absolute(folder, error);
  while (!fs::is_directory(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();

  std::array<wchar_t, 1024> volume{};
  if (!GetVolumePathNameW(existing.c_str(), volume.data(), static_cast<DWORD>(volume.size()))) {
    throw_last_system_error("look at " + to_utf8(folder));
  }
  std::array<wchar_t, 64> kind{};
  FileSystemTraits traits;
  if (GetVolumeInformationW(volume.data(), nullptr, 0, nullptr, nullptr, nullptr, kind.data(),
                            static_cast<DWORD>(kind.size()))) {
    traits.kind = to_utf8(fs::path(kind.data()));
  }
  traits.mount = to_utf8(fs::path(volume.data()));
  const std::wstring root = existing.root_name().wstring();
  const bool wsl = root.find(L"wsl$") != std::wstring::npos ||
                   root.find(L"wsl.localhost") != std::wstring::npos || traits.kind == "9P";
  traits.is_windows_mounted = wsl;  // the border seen from the other side
  traits.is_network = !wsl && (GetDriveTypeW(volume.data()) == DRIVE_REMOTE || root.rfind(L"\\\\", 0) == 0);

  const fs::path trial = existing / (".lathe-trial-" + unique_name());
  try {
    const std::optional<FileLock> lock = FileLock::try_acquire(trial);
    traits.supports_locks = lock.has_value() && FileLock::is_held(trial);
    traits.supports_shared_memory = shared_memory_works(trial);
  } catch (const Error& failure) {
    // A folder one may not write says nothing about the file system.
    if (failure.code() == ErrorCode::Unsupported) traits.supports_locks = false;
  }
  fs::remove(trial, error);
  return traits;
}

}  // namespace lathe
