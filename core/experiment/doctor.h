// What this machine offers and what is in the way, one check after the other, each with its finding and,
// where it isn't good, what to do.
//
// Drivers are asked in a child process with a time-out: one that crashes or hangs takes the child, and
// becomes a finding. The child writes a line of JSON a check, so that what it found before stays.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/error.h"

namespace lathe {

enum class Finding { Good, Warning, Bad };
std::string_view finding_name(Finding finding);  // "good", "warning", "bad"

struct Check {
  std::string subject;
  Finding finding = Finding::Good;
  std::string text;
  ErrorCode code = ErrorCode::Internal;                              // of a bad one
  nlohmann::ordered_json values = nlohmann::ordered_json::object();  // its numbers, for scripts
};
nlohmann::ordered_json to_json(const Check& check);

// What `look` finds; whatever it throws is a bad finding about `subject`.
Check attempt(const std::string& subject, const std::function<Check()>& look);

// System, display, host memory, the history's folder and its disk.
std::vector<Check> check_host(const std::filesystem::path& home);

// Drivers and libraries against what is known of them: too old, or on the list of versions to avoid.
std::vector<Check> check_versions(const DeviceInfo& device);

// In the child: everything about one backend's device, handed to `found` as it turns up, each after a word to
// `doing` about what may hang. With `measure` also its rates and the fixed overhead, which on a GPU are
// stored in `home` for estimates. Errors become checks.
void check_device(const BackendEntry& entry, const std::filesystem::path& home, bool measure,
                  const std::function<void(const Check&)>& found,
                  const std::function<void(const std::string&)>& doing);

// Of `asked` bytes of page-locked host memory the driver gave `held`.
Check check_pinned_memory(int64_t held, int64_t asked);

// A line of the child's output.
std::string check_line(const Check& check);
std::string doing_line(const std::string& doing);

// In the parent: runs `command`, which calls check_device() and prints those lines. A child that crashes,
// hangs or can't be started is a check of `subject`, saying what it was doing.
std::vector<Check> checks_of_child(const std::vector<std::string>& command, const std::string& subject,
                                   double seconds);

}  // namespace lathe
