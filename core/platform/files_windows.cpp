// files.h for Windows.
#include <windows.h>

#include <shlobj.h>

#include <algorithm>
#include <vector>

#include "core/platform/child_process.h"
#include "core/platform/files.h"
#include "core/platform/home.h"
#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

// NTFS journals its folder entries itself, and MoveFileEx below asks for the write-through.
void sync_folder(const fs::path&) {}

void rename_path(const fs::path& from, const fs::path& to) {
  constexpr int attempts = 20;
  for (int attempt = 1;; ++attempt) {
    if (MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return;
    const DWORD error = GetLastError();
    const bool may_pass =
        error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION || error == ERROR_ACCESS_DENIED;
    if (!may_pass || attempt == attempts) {
      throw_system_error("rename " + to_utf8(from) + " to " + to_utf8(to), static_cast<int>(error));
    }
    Sleep(50);
  }
}

static HANDLE native(intptr_t handle) {
  return reinterpret_cast<HANDLE>(handle);
}

DurableFile::DurableFile(const fs::path& path, Open mode) : path_(path) {
  const DWORD access =
      mode == Open::Append ? FILE_APPEND_DATA | SYNCHRONIZE | FILE_READ_ATTRIBUTES : GENERIC_WRITE;
  const DWORD creation =
      mode == Open::CreateNew ? CREATE_NEW : (mode == Open::Truncate ? CREATE_ALWAYS : OPEN_ALWAYS);
  // Others may read, rename and delete meanwhile, as they may on POSIX.
  const HANDLE handle = CreateFileW(path.c_str(), access, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                    creation, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) throw_last_system_error("create " + to_utf8(path));
  handle_ = reinterpret_cast<intptr_t>(handle);
  LARGE_INTEGER size{};
  if (GetFileSizeEx(handle, &size)) size_ = size.QuadPart;
}

DurableFile::~DurableFile() {
  if (is_open()) CloseHandle(native(handle_));
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const DWORD piece = static_cast<DWORD>(std::min<size_t>(bytes.size(), size_t{1} << 28));
    DWORD written = 0;
    if (!WriteFile(native(handle_), bytes.data(), piece, &written, nullptr)) {
      throw_last_system_error("write " + to_utf8(path_));
    }
    size_ += written;
    bytes = bytes.subspan(written);
  }
}

void DurableFile::sync() {
  if (!FlushFileBuffers(native(handle_))) throw_last_system_error("flush " + to_utf8(path_));
}

void DurableFile::close() {
  if (!is_open()) return;
  const HANDLE handle = native(handle_);
  handle_ = -1;
  if (!CloseHandle(handle)) throw_last_system_error("close " + to_utf8(path_));
}

fs::path platform_home() {
  PWSTR folder = nullptr;
  const HRESULT result = SHGetKnownFolderPath(FOLDERID_LocalAppData, KF_FLAG_DEFAULT, nullptr, &folder);
  const fs::path path = SUCCEEDED(result) && folder ? fs::path(folder) : fs::path();
  CoTaskMemFree(folder);
  if (path.empty()) {
    throw Error(ErrorCode::NotFound, "Windows names no local application data folder for this user.",
                "Set LATHE_HOME, or pass --home FOLDER.");
  }
  return path / "lathe";
}

fs::path executable_folder() {
  return this_program().parent_path();
}

}  // namespace lathe
