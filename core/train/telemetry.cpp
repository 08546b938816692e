#include "core/train/telemetry.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>

#include "core/platform/files.h"
#include "core/platform/process.h"

namespace lathe {

namespace {

// NVML's clock throttle reasons that slow a run: power cap 0x4, hardware slowdown 0x8, software thermal 0x20,
// hardware thermal 0x40, power brake 0x80. Idle, application clocks, sync boost and display clocks don't
// count.
constexpr int64_t kThermal = 0x20 | 0x40, kHardware = 0x8 | 0x80;

// The arena is allocated, so it lies somewhere: what the device can't hold, or says it doesn't, lies in host
// memory. Where the system tells processes apart, the others' share counts; elsewhere all of them together
// hold at least the arena, unless some of it is gone.
std::string spill(const DeviceTelemetry& reading, int64_t arena_bytes) {
  if (!reading.used_bytes || !reading.total_bytes) return {};
  const int64_t used = *reading.used_bytes, total = *reading.total_bytes;
  const int64_t others = reading.process_bytes ? used - *reading.process_bytes : 0;
  const bool spilled =
      arena_bytes + others > total || arena_bytes > (reading.process_bytes ? *reading.process_bytes : used);
  if (!spilled) return {};
  return fmt::format(
      "The run has {} and {} on a device with {}, which holds only {} in all: the driver spills into host "
      "memory, which is many times slower. Close other programs, or make the run smaller.",
      bytes_text(arena_bytes),
      reading.process_bytes ? "other programs have " + bytes_text(others) : "other programs have some, too,",
      bytes_text(total), bytes_text(used));
}

}  // namespace

AlertTexts judge(const DeviceTelemetry& reading, int64_t arena_bytes, int64_t free_disk,
                 int64_t checkpoint_bytes) {
  AlertTexts alerts;
  alerts.text[static_cast<int>(Alert::Spill)] = spill(reading, arena_bytes);
  if (reading.throttle_reasons && (*reading.throttle_reasons & (kThermal | kHardware)) != 0) {
    alerts.text[static_cast<int>(Alert::Throttling)] =
        (*reading.throttle_reasons & kThermal) != 0
            ? fmt::format(
                  "The GPU slows down because it is hot{}: check its cooling.",
                  reading.temperature_c ? fmt::format(" ({:.0f} degrees)", *reading.temperature_c) : "")
            : std::string("The GPU slows down on a hardware signal: check its power supply.");
  }
  if (free_disk < 2 * checkpoint_bytes) {
    alerts.text[static_cast<int>(Alert::DiskLow)] =
        fmt::format("{} are left on the disk; a checkpoint takes {}.", bytes_text(free_disk),
                    bytes_text(checkpoint_bytes));
  }
  return alerts;
}

Telemetry::Telemetry(const Backend& backend, RunWriter& writer, const SharedPosition& position,
                     const RunControl& control, int64_t arena_bytes, int64_t checkpoint_bytes)
    : backend_(backend),
      writer_(writer),
      position_(position),
      control_(control),
      arena_bytes_(arena_bytes),
      checkpoint_bytes_(checkpoint_bytes),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Telemetry::~Telemetry() {
  thread_.request_stop();
}

void Telemetry::work(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    sample();
    woken.wait_for(lock, stop, control_.telemetry_every(), [] { return false; });
  }
}

void Telemetry::sample() {
  const DeviceTelemetry reading = backend_.telemetry();
  TelemetryRow row;
  row.step = position_.step;
  row.tokens = position_.tokens;
  row.active_ms = position_.active_ms;
  const auto bytes = [](const std::optional<int64_t>& value) {
    return value ? MetricValue(static_cast<double>(*value)) : MetricValue();
  };
  row.gpu_utilisation = reading.utilisation_percent;
  row.gpu_temperature = reading.temperature_c;
  row.gpu_power = reading.power_w;
  row.gpu_sm_clock = reading.sm_clock_mhz;
  row.gpu_memory_clock = reading.memory_clock_mhz;
  row.gpu_throttle_reasons = bytes(reading.throttle_reasons);
  row.memory_device_process = bytes(reading.process_bytes);
  if (reading.used_bytes && reading.process_bytes) {
    row.memory_device_others = static_cast<double>(*reading.used_bytes - *reading.process_bytes);
  }
  row.memory_device_total = bytes(reading.total_bytes);
  row.host_memory_process = static_cast<double>(process_memory().resident_bytes);
  row.host_memory_available = static_cast<double>(system_memory().available_bytes);
  writer_.add_telemetry(row);

  int64_t free_disk = INT64_MAX;
  try {
    free_disk = free_disk_bytes(writer_.folder());
  } catch (const Error&) {
    // The writer reports a disk that is gone; this thread only measures.
  }
  const AlertTexts alerts = judge(reading, arena_bytes_, free_disk, checkpoint_bytes_);
  for (int i = 0; i < kAlertCount; ++i) {
    const bool now = !alerts.text[i].empty();
    if (now && !alerted_[i]) writer_.add_event(EventLevel::Warning, alerts.text[i]);
    alerted_[i] = now;
  }
}

}  // namespace lathe
