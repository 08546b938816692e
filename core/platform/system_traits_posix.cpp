// system_traits.h for Linux.
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#include "core/platform/system_traits.h"

namespace lathe {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// PRETTY_NAME of /etc/os-release, or nothing.
std::string distribution() {
  std::ifstream file("/etc/os-release");
  constexpr std::string_view key = "PRETTY_NAME=\"";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key) && line.ends_with('"'))
      return line.substr(key.size(), line.size() - key.size() - 1) + ", ";
  }
  return {};
}

}  // namespace

SystemTraits system_traits() {
  SystemTraits traits;
  utsname kernel{};
  if (::uname(&kernel) == 0) traits.name = distribution() + kernel.sysname + " " + kernel.release;
  traits.is_wsl = traits.name.find("microsoft") != std::string::npos;
  const std::string wayland = environment("WAYLAND_DISPLAY"), x11 = environment("DISPLAY");
  if (!wayland.empty()) {
    traits.display = "Wayland (" + wayland + ")";
  } else if (!x11.empty()) {
    traits.display = "X11 (" + x11 + ")";
  }
  return traits;
}

}  // namespace lathe
