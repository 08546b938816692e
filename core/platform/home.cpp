#include "core/platform/home.h"

#include "core/platform/files.h"

namespace lathe {

namespace fs = std::filesystem;

namespace {

fs::path choice_file() {
  return platform_home() / "home.txt";
}

}  // namespace

fs::path default_home() {
  const fs::path file = choice_file();
  if (!fs::exists(file)) return platform_home();
  const fs::path chosen = from_utf8(read_file(file, 4096));
  return chosen.is_absolute() ? chosen : platform_home();
}

void choose_home(const fs::path& folder) {
  fs::create_directories(platform_home());
  write_file_atomically(choice_file(), to_utf8(fs::absolute(folder)));
}

}  // namespace lathe
