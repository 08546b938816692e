#include "kernels/cuda/nvml.h"

#include <array>

namespace lathe::cuda {

namespace {

// NVML's stable ABI, as far as it is used: the toolkit's wheels carry no nvml.h.
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance, compute_instance;
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
constexpr unsigned long long kNotAvailable = ~0ULL;

template <class Function>
Function* symbol(const SharedLibrary& library, const char* name) {
  return library.handle ? reinterpret_cast<Function*>(find_symbol(library, name)) : nullptr;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) : library_(open_shared_library(kNvmlLibrary, LibraryScope::Local)) {
  auto* const initialise = symbol<int()>(library_, "nvmlInit_v2");
  auto* const find = symbol<int(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (!initialise || !find || initialise() != 0 || find(pci_bus_id.c_str(), &device_) != 0) device_ = nullptr;
}

std::optional<int64_t> Nvml::process_bytes() const {
  auto* const list =
      symbol<int(void*, unsigned int*, ProcessInfo*)>(library_, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (!device_ || !list) return std::nullopt;
  std::array<ProcessInfo, 256> processes{};
  unsigned int count = static_cast<unsigned int>(processes.size());
  if (list(device_, &count, processes.data()) != 0) return std::nullopt;
  for (unsigned int i = 0; i < count; ++i) {
    // Inside a container NVML may number processes as the host does: a single one can only be this.
    if (processes[i].pid != this_process_id() && count != 1) continue;
    if (processes[i].used_bytes == kNotAvailable || processes[i].used_bytes == 0) return std::nullopt;
    return static_cast<int64_t>(processes[i].used_bytes);
  }
  return std::nullopt;
}

std::optional<int64_t> Nvml::used_bytes() const {
  auto* const memory = symbol<int(void*, MemoryInfo*)>(library_, "nvmlDeviceGetMemoryInfo");
  MemoryInfo info{};
  if (!device_ || !memory || memory(device_, &info) != 0) return std::nullopt;
  return static_cast<int64_t>(info.used);
}

DeviceTelemetry Nvml::telemetry() const {
  DeviceTelemetry result;
  if (!device_) return result;
  struct Utilisation {
    unsigned int gpu, memory;
  } utilisation{};
  auto* const rates = symbol<int(void*, Utilisation*)>(library_, "nvmlDeviceGetUtilizationRates");
  if (rates && rates(device_, &utilisation) == 0) result.utilisation_percent = utilisation.gpu;
  // A reading of type unsigned int, selected by a number where NVML wants one.
  const auto reading = [&](const char* name, auto... which) -> std::optional<double> {
    auto* const get = symbol<int(void*, decltype(which)..., unsigned int*)>(library_, name);
    unsigned int value = 0;
    if (!get || get(device_, which..., &value) != 0) return std::nullopt;
    return value;
  };
  result.temperature_c = reading("nvmlDeviceGetTemperature", 0);  // of the GPU itself
  result.power_w = reading("nvmlDeviceGetPowerUsage");
  if (result.power_w) *result.power_w /= 1000;  // milliwatts
  result.sm_clock_mhz = reading("nvmlDeviceGetClockInfo", 1);
  result.memory_clock_mhz = reading("nvmlDeviceGetClockInfo", 2);
  auto* const throttle =
      symbol<int(void*, unsigned long long*)>(library_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned long long reasons = 0;
  if (throttle && throttle(device_, &reasons) == 0) result.throttle_reasons = static_cast<int64_t>(reasons);
  MemoryInfo info{};
  auto* const memory = symbol<int(void*, MemoryInfo*)>(library_, "nvmlDeviceGetMemoryInfo");
  if (memory && memory(device_, &info) == 0) {
    result.used_bytes = static_cast<int64_t>(info.used);
    result.total_bytes = static_cast<int64_t>(info.total);
  }
  result.process_bytes = process_bytes();
  return result;
}

std::string Nvml::driver_version() const {
  auto* const version = symbol<int(char*, unsigned int)>(library_, "nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (!device_ || !version || version(text.data(), static_cast<unsigned int>(text.size())) != 0) return {};
  return text.data();
}

}  // namespace lathe::cuda
