// child_process.h for POSIX.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/platform/child_process.h"
#include "core/platform/line_splitter.h"
#include "core/platform/process.h"
#include "core/platform/system_error.h"
#include "kernels/api/error.h"

extern char** environ;

namespace lathe {

namespace {

// Starts the program and returns its id; its standard output arrives at the returned end of a pipe.
pid_t start(const std::vector<std::string>& command, int& output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::Io, fmt::format("No pipe could be made: {}.", std::strerror(errno)),
                "Close some programs and try again.");
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    ::close(ends[0]);
    throw Error(ErrorCode::Io, fmt::format("{} could not be started: {}.", command[0], std::strerror(failed)),
                "Check that the program is there and may be run.");
  }
  output = ends[0];
  return child;
}

}  // namespace

std::filesystem::path this_program() {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw_system_error("find this program", error.value());
  return program;
}

ChildEnd run_child(const std::vector<std::string>& command, double seconds,
                   const std::function<void(std::string_view)>& line) {
  int output = -1;
  const pid_t child = start(command, output);
  const double end = monotonic_seconds() + seconds;
  LineSplitter lines(line);
  bool open = true;
  while (open) {
    const double left = end - monotonic_seconds();
    pollfd readable{output, POLLIN, 0};
    if (left <= 0) break;
    const int ready = ::poll(&readable, 1, static_cast<int>(left * 1000) + 1);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(output, buffer.data(), buffer.size());
    if (got > 0) lines.add({buffer.data(), static_cast<size_t>(got)});
    open = got > 0 || (got < 0 && errno == EINTR);
  }
  ::close(output);
  lines.finish();
  int status = 0;
  // It may live on for a while without its output, or hang in a driver where not even a kill reaches it.
  const auto ended = [&](double until) {
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (monotonic_seconds() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  };
  if (!ended(end)) {
    ::kill(child, SIGKILL);
    ended(monotonic_seconds() + 2);
    return {false, 0, fmt::format("no end within {:.0f} s", seconds)};
  }
  if (WIFSIGNALED(status)) {
    return {false, 0,
            fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))};
  }
  return {true, WEXITSTATUS(status), fmt::format("exit code {}", WEXITSTATUS(status))};
}

}  // namespace lathe
