// This process and others: identity, liveness, memory; and the clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lathe {

int64_t process_id();

// When process `pid` started, in the system's own unit (only equality means something: together with the id
// it names one process for ever, since ids are used again). Nothing when there is no such process.
std::optional<int64_t> process_start_time(int64_t pid);

// Whether exactly that process still runs.
bool process_is_alive(int64_t pid, int64_t start_time);

struct ProcessMemory {
  int64_t resident_bytes = 0;       // physical memory held now
  int64_t peak_resident_bytes = 0;  // the most it ever held
};
ProcessMemory process_memory();

struct SystemMemory {
  int64_t total_bytes = 0;
  int64_t available_bytes = 0;  // what a process may take without swapping
};
SystemMemory system_memory();

std::string host_name();
int logical_cores();  // cores this process may use (affinity respected), at least 1

// Seconds of a clock that never jumps (for durations), and milliseconds since 1970 UTC (for records).
double monotonic_seconds();
int64_t wall_clock_ms();

// "2026-01-31T12:34:56.789Z" from milliseconds since 1970 UTC.
std::string utc_text(int64_t wall_ms);

}  // namespace lathe
