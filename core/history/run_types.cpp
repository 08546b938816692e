#include "core/history/run_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/api/error.h"

namespace lathe {
namespace {

// Names in the order of the enumerators: they are stored, so they never change.
constexpr std::array<std::string_view, 8> status_names = {"preparing", "running", "paused", "stopping",
                                                          "finished",  "stopped", "failed", "interrupted"};
constexpr std::array<std::string_view, 7> command_names = {"pause", "resume",   "stop",  "stop_now",
                                                           "save",  "evaluate", "sample"};
constexpr std::array<std::string_view, 3> level_names = {"info", "warning", "error"};

template <class Enum, size_t n>
Enum parse(const std::array<std::string_view, n>& names, std::string_view name, std::string_view what) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  throw Error(ErrorCode::CorruptFile,
              fmt::format("'{}' in the history is no {} this version knows.", name, what),
              "The history is damaged, or a newer Lathe wrote it: update Lathe.");
}

}  // namespace

std::string_view status_name(RunStatus status) {
  return status_names[static_cast<size_t>(status)];
}

RunStatus parse_status(std::string_view name) {
  return parse<RunStatus>(status_names, name, "run status");
}

bool is_active(RunStatus status) {
  return status <= RunStatus::Stopping;
}

std::string_view command_name(CommandKind kind) {
  return command_names[static_cast<size_t>(kind)];
}

CommandKind parse_command(std::string_view name) {
  return parse<CommandKind>(command_names, name, "command");
}

std::string_view level_name(EventLevel level) {
  return level_names[static_cast<size_t>(level)];
}

EventLevel parse_level(std::string_view name) {
  return parse<EventLevel>(level_names, name, "event level");
}

}  // namespace lathe
