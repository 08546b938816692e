// terminal.h for POSIX.
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/platform/terminal.h"

namespace lathe {

bool is_terminal(std::FILE* stream) {
  return ::isatty(::fileno(stream)) != 0;
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace lathe
