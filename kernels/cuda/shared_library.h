// What the CUDA backend wants from the system: shared libraries at run time (open, look up, keep), and who
// this process is. One POSIX and one Windows source.
#pragma once

#include <filesystem>
#include <string>

namespace lathe {

enum class LibraryScope { Local, Global };

struct SharedLibrary {
  void* handle =
      nullptr;        // null: not opened, see error. Never closed: GPU libraries don't survive unloading.
  std::string error;  // the loader's own words
};

#ifdef _WIN32
inline constexpr const char* kDriverLibrary = "nvcuda.dll";
inline constexpr const char* kNvmlLibrary = "nvml.dll";
#else
inline constexpr const char* kDriverLibrary = "libcuda.so.1";
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
#endif

// A bare file name is looked for in the system's search path.
SharedLibrary open_shared_library(const std::filesystem::path& path, LibraryScope scope);

// Null when the library has no such symbol.
void* find_symbol(const SharedLibrary& library, const char* name);

std::filesystem::path folder_of_this_program();
unsigned int this_process_id();

}  // namespace lathe
