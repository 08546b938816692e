// Turns a failed system call into an Error: code by cause, the system's own words, and what to do.
#pragma once

#include <string>

namespace lathe {

// The calling thread's last system error: errno, or GetLastError() on Windows.
int last_system_error();

// Throws Error for `error` (a value of last_system_error()). `action` reads like "write /path/file".
[[noreturn]] void throw_system_error(const std::string& action, int error);
[[noreturn]] inline void throw_last_system_error(const std::string& action) {
  throw_system_error(action, last_system_error());
}

}  // namespace lathe
