// process.h for Linux: /proc.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/platform/process.h"

namespace lathe {

int64_t process_id() {
  return ::getpid();
}

std::optional<int64_t> process_start_time(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  // The second field is the program's name in parentheses and may hold anything: count from its end.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;  // dead, only not yet collected by its parent
  std::string field;
  for (int i = 4; i < 22; ++i) fields >> field;
  int64_t start = 0;
  if (!(fields >> start)) return std::nullopt;
  return start;
}

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  if (file >> size >> resident) memory.resident_bytes = resident * ::sysconf(_SC_PAGESIZE);
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) memory.peak_resident_bytes = int64_t{usage.ru_maxrss} * 1024;
  return memory;
}

SystemMemory system_memory() {
  SystemMemory memory;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  int64_t value = 0;
  while (file >> key >> value) {
    std::getline(file, unit);
    if (key == "MemTotal:") memory.total_bytes = value * 1024;
    if (key == "MemAvailable:") memory.available_bytes = value * 1024;
  }
  return memory;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

int logical_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int>(cores) : 1;
}

}  // namespace lathe
