// terminal.h for Windows.
#include <windows.h>

#include <io.h>

#include "core/platform/terminal.h"

namespace lathe {

bool is_terminal(std::FILE* stream) {
  return _isatty(_fileno(stream)) != 0;
}

int terminal_width(std::FILE* stream) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream)));
  return GetConsoleScreenBufferInfo(handle, &info) ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
}

}  // namespace lathe
