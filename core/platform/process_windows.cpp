// process.h for Windows.
#include <windows.h>

#include <psapi.h>

#include <array>
#include <filesystem>

#include "core/platform/files.h"
#include "core/platform/process.h"

namespace lathe {

int64_t process_id() {
  return static_cast<int64_t>(GetCurrentProcessId());
}

std::optional<int64_t> process_start_time(int64_t pid) {
  const HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(pid));
  if (!process) return std::nullopt;
  // A handle can be had of a process that has ended while others hold one: ask for its exit code too.
  DWORD exit_code = 0;
  FILETIME created{}, exited{}, kernel{}, user{};
  const bool known = GetExitCodeProcess(process, &exit_code) && exit_code == STILL_ACTIVE &&
                     GetProcessTimes(process, &created, &exited, &kernel, &user);
  CloseHandle(process);
  if (!known) return std::nullopt;
  return (static_cast<int64_t>(created.dwHighDateTime) << 32) | static_cast<int64_t>(created.dwLowDateTime);
}

ProcessMemory process_memory() {
  ProcessMemory memory;
  PROCESS_MEMORY_COUNTERS counters{};
  if (GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))) {
    memory.resident_bytes = static_cast<int64_t>(counters.WorkingSetSize);
    memory.peak_resident_bytes = static_cast<int64_t>(counters.PeakWorkingSetSize);
  }
  return memory;
}

SystemMemory system_memory() {
  SystemMemory memory;
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  if (GlobalMemoryStatusEx(&status)) {
    memory.total_bytes = static_cast<int64_t>(status.ullTotalPhys);
    memory.available_bytes = static_cast<int64_t>(status.ullAvailPhys);
  }
  return memory;
}

std::string host_name() {
  std::array<wchar_t, 256> name{};
  DWORD size = static_cast<DWORD>(name.size());
  if (!GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.data(), &size)) return "unknown";
  return to_utf8(std::filesystem::path(name.data()));
}

int logical_cores() {
  DWORD_PTR process = 0, system = 0;
  int cores = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system)) {
    for (; process; process &= process - 1) ++cores;
  }
  return cores > 0 ? cores : 1;
}

}  // namespace lathe
