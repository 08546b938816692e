// Shared libraries at run time, POSIX.
#include <dlfcn.h>
#include <unistd.h>

#include "kernels/cuda/shared_library.h"

namespace lathe {

SharedLibrary open_shared_library(const std::filesystem::path& path, LibraryScope scope) {
  SharedLibrary library;
  library.handle =
      dlopen(path.c_str(), RTLD_NOW | (scope == LibraryScope::Global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!library.handle) {
    const char* error = dlerror();
    library.error = error ? error : "unknown reason";
  }
  return library;
}

void* find_symbol(const SharedLibrary& library, const char* name) {
  return dlsym(library.handle, name);
}

std::filesystem::path folder_of_this_program() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path(".") : program.parent_path();
}

unsigned int this_process_id() {
  return static_cast<unsigned int>(getpid());
}

}  // namespace lathe
