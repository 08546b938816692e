// What kind of system this is, as far as training and windows behave differently on it.
#pragma once

#include <string>

namespace lathe {

struct SystemTraits {
  std::string name;     // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  bool is_wsl = false;  // Linux inside Windows
  std::string display;  // where a window would open: "Wayland (wayland-0)", "X11 (:0)"; empty: nowhere
};
SystemTraits system_traits();

}  // namespace lathe
