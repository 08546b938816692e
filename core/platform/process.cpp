// The part of process.h that is the same everywhere: clocks.
#include "core/platform/process.h"

#include <fmt/format.h>

#include <chrono>

namespace lathe {

bool process_is_alive(int64_t pid, int64_t start_time) {
  return process_start_time(pid) == start_time;
}

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t wall_clock_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string utc_text(int64_t wall_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds{wall_ms}};
  const sys_days day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace lathe
