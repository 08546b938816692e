// Shared libraries at run time, Windows.
#define NOMINMAX
#include <windows.h>

#include <array>

#include "kernels/cuda/shared_library.h"

namespace lathe {

SharedLibrary open_shared_library(const std::filesystem::path& path, LibraryScope) {
  SharedLibrary library;
  library.handle = reinterpret_cast<void*>(LoadLibraryW(path.c_str()));
  if (!library.handle) library.error = path.string() + ": Windows error " + std::to_string(GetLastError());
  return library;
}

void* find_symbol(const SharedLibrary& library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library.handle), name));
}

std::filesystem::path folder_of_this_program() {
  std::array<wchar_t, 32768> path{};
  const DWORD length = GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
  return std::filesystem::path(path.data(), path.data() + length).parent_path();
}

unsigned int this_process_id() {
  return GetCurrentProcessId();
}

}  // namespace lathe
