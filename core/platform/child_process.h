// A program run to its end, or to the end of patience: for what may crash or hang, such as a driver.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// The running executable: what a program starts to run itself once more. Throws Io.
std::filesystem::path this_program();

struct ChildEnd {
  bool exited = false;  // by itself, whatever its exit code; false: a crash, or stopped by us
  int exit_code = 0;    // when it exited
  std::string text;     // "exit code 3", "killed by signal 11 (Segmentation fault)", "no end within 60 s"
};

// Runs `command` (a program and its arguments, no shell) without standard input; its standard error is this
// process's. Each line of its standard output goes to `line` as it comes. Longer than `seconds`: it is
// killed. Throws Io when it can't be started.
ChildEnd run_child(const std::vector<std::string>& command, double seconds,
                   const std::function<void(std::string_view)>& line);

}  // namespace lathe
