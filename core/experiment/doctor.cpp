#include "core/experiment/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/experiment/device_rates.h"
#include "core/history/history_store.h"
#include "core/platform/child_process.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "core/platform/json.h"
#include "core/platform/process.h"
#include "core/platform/system_traits.h"
#include "core/program/gpu_table.h"
#include "kernels/api/avoided_versions.h"

namespace lathe {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kFindings = {Finding::Good, Finding::Warning, Finding::Bad};

Check check_history(const std::filesystem::path& home) {
  const FileSystemTraits traits = file_system_traits(home);
  const HistoryStore store(home);  // refuses, with advice, what can't hold a history
  const size_t runs = store.list({.archived = true}).size();
  Check check{
      "history", Finding::Good,
      fmt::format("{}: {}{}, {}, {} runs", to_utf8(home), traits.kind,
                  traits.mount.empty() ? "" : " at " + traits.mount,
                  traits.can_hold_history() ? "local, with locks and shared memory" : "can't hold a history",
                  runs)};
  check.values = {{"folder", to_utf8(home)},
                  {"file_system", traits.kind},
                  {"mount", traits.mount},
                  {"network", traits.is_network},
                  {"windows_mounted", traits.is_windows_mounted},
                  {"locks", traits.supports_locks},
                  {"shared_memory", traits.supports_shared_memory},
                  {"runs", runs}};
  return check;
}

Check check_disk(const std::filesystem::path& home) {
  const int64_t free = free_disk_bytes(home);
  // The reference model's checkpoint with 8-bit states takes about 6 GiB, and two must fit.
  const bool scarce = free < (int64_t{12} << 30);
  Check check{
      "disk", scarce ? Finding::Warning : Finding::Good,
      fmt::format("{} free{}", bytes_text(free), scarce ? "; checkpoints of a 1B model need more" : "")};
  check.values["free_bytes"] = free;
  return check;
}

Check check_memory() {
  const SystemMemory memory = system_memory();
  Check check{"host memory", Finding::Good,
              fmt::format("{} of {} available, {} cores", bytes_text(memory.available_bytes),
                          bytes_text(memory.total_bytes), logical_cores())};
  check.values = {{"available_bytes", memory.available_bytes},
                  {"total_bytes", memory.total_bytes},
                  {"cores", logical_cores()}};
  return check;
}

// What others hold: from the driver, or from what this process holds by its own account.
Check check_device_memory(const DeviceInfo& device, const DeviceTelemetry& sensors) {
  Check check{device.backend + " memory", Finding::Good,
              fmt::format("{} of {} free", bytes_text(device.free_bytes), bytes_text(device.total_bytes))};
  check.values = {{"free_bytes", device.free_bytes}, {"total_bytes", device.total_bytes}};
  if (!sensors.used_bytes) {
    check.text += "; what others hold is unknown, since NVML is missing";
    return check;
  }
  const int64_t others = *sensors.used_bytes - sensors.process_bytes.value_or(0);
  check.values["others_bytes"] = others;
  check.values["others_inferred"] = !sensors.process_bytes;
  check.text += fmt::format(", {} held by other programs{}", bytes_text(others),
                            sensors.process_bytes ? "" : " (inferred: this one's share is in it)");
  if (others > device.total_bytes / 8) {
    check.finding = Finding::Warning;
    check.text += "; close them for a larger model";
  }
  return check;
}

std::string rate_text(double flops) {
  return flops >= 1e12 ? fmt::format("{:.1f} TFLOP/s", flops / 1e12)
                       : fmt::format("{:.1f} GFLOP/s", flops / 1e9);
}
std::string bandwidth_text(double bytes) {
  return bytes >= 1e12 ? fmt::format("{:.2f} TB/s", bytes / 1e12) : fmt::format("{:.1f} GB/s", bytes / 1e9);
}

// A rate beside the specification's, where there is one. Under half of it something is wrong: heat, another
// program, a slot with too few lanes.
Check check_rate(const std::string& subject, const std::string& what, double rate, double specification,
                 std::string (*text)(double)) {
  Check check{subject, Finding::Good, fmt::format("{} {}", text(rate), what)};
  check.values["per_s"] = rate;
  if (specification > 0) {
    check.values["specification_per_s"] = specification;
    check.text +=
        fmt::format(", {:.0f}% of the specification's {}", 100 * rate / specification, text(specification));
    if (rate < specification / 2) {
      check.finding = Finding::Warning;
      check.text += ": see that it is cool, well powered and not busy with another program";
    }
  }
  return check;
}

std::vector<Check> check_rates(const DeviceInfo& device, const DeviceRates& measured) {
  const GpuEntry* gpu = find_gpu(device.name);
  std::vector<Check> checks;
  checks.push_back(check_rate(device.backend + " products", measured.matrix_shape,
                              measured.rates.matrix_flops, gpu ? gpu->bf16_tflops * 1e12 : 0, rate_text));
  checks.push_back(check_rate(device.backend + " attention", measured.attention_shape,
                              measured.rates.attention_flops, 0, rate_text));
  checks.push_back(check_rate(device.backend + " memory rate", "in a memory-bound op",
                              measured.rates.memory_bytes, gpu ? gpu->memory_gb_per_s * 1e9 : 0,
                              bandwidth_text));
  Check copies{device.backend + " copies", Finding::Good,
               fmt::format("{} from host memory, {} back", bandwidth_text(measured.to_device_bytes_per_s),
                           bandwidth_text(measured.to_host_bytes_per_s))};
  copies.values = {{"to_device_per_s", measured.to_device_bytes_per_s},
                   {"to_host_per_s", measured.to_host_bytes_per_s}};
  checks.push_back(std::move(copies));
  return checks;
}

// Rates and overhead for later estimates.
Check store_calibration(const std::filesystem::path& home, const DeviceInfo& device,
                        const DeviceRates& measured) {
  const std::string subject = device.backend + " overhead";
  const MemoryReport& memory = measured.memory;
  Calibration calibration = load_calibration(home, device.name, calibration_versions(device));
  calibration.rates = measured.rates;
  const bool known = memory.overhead_bytes > 0 && !memory.inferred;
  if (known) {
    calibration.overhead_bytes = std::max(calibration.overhead_bytes.value_or(0), memory.overhead_bytes);
  }
  save_calibration(home, calibration);
  Check check{subject, known ? Finding::Good : Finding::Warning,
              known
                  ? fmt::format("{} for driver and libraries; stored, with the rates, for estimates",
                                bytes_text(memory.overhead_bytes))
                  : std::string("the driver reports no memory per process, so estimates assume the overhead; "
                                "the rates are stored")};
  if (known) check.values["bytes"] = memory.overhead_bytes;
  check.values["file"] = to_utf8(calibration_path(home, device.name));
  return check;
}

}  // namespace

std::string_view finding_name(Finding finding) {
  switch (finding) {
    case Finding::Good:
      return "good";
    case Finding::Warning:
      return "warning";
    case Finding::Bad:
      return "bad";
  }
  return "bad";
}

Json to_json(const Check& check) {
  Json json = {{"subject", check.subject}, {"finding", finding_name(check.finding)}, {"text", check.text}};
  if (check.finding == Finding::Bad) json["code"] = error_code_name(check.code);
  if (!check.values.empty()) json["values"] = check.values;
  return json;
}

Check attempt(const std::string& subject, const std::function<Check()>& look) {
  try {
    return look();
  } catch (const Error& error) {
    return {subject, Finding::Bad, error.what(), error.code()};
  } catch (const std::exception& error) {
    return {subject, Finding::Bad, error.what()};
  }
}

std::vector<Check> check_host(const std::filesystem::path& home) {
  const SystemTraits system = system_traits();
  std::vector<Check> checks;
  checks.push_back({"system", Finding::Good, system.name + (system.is_wsl ? ", inside Windows (WSL)" : "")});
  checks.back().values["wsl"] = system.is_wsl;
  const bool display = !system.display.empty();
  checks.push_back(
      {"display", display ? Finding::Good : Finding::Warning,
       display ? system.display : "none here, so the window can't open; the command line does everything"});
  checks.push_back(attempt("host memory", check_memory));
  checks.push_back(attempt("history", [&] { return check_history(home); }));
  checks.push_back(attempt("disk", [&] { return check_disk(home); }));
  return checks;
}

std::vector<Check> check_versions(const DeviceInfo& device) {
  std::vector<Check> checks;
  for (const auto& [component, version] : device.versions) {
    const AvoidedVersion* trouble = avoided_version(component, version, device.target.compute_capability);
    Check check{component, trouble ? Finding::Warning : Finding::Good, version};
    if (trouble) check.text += fmt::format(" {}. {}", trouble->trouble, trouble->advice);
    check.values = {{"version", version}, {"avoid", trouble != nullptr}};
    checks.push_back(std::move(check));
  }
  return checks;
}

void check_device(const BackendEntry& entry, const std::filesystem::path& home, bool measure,
                  const std::function<void(const Check&)>& found,
                  const std::function<void(const std::string&)>& doing) {
  if (!entry.backend) return found({entry.name, Finding::Warning, entry.unavailable});
  const Backend& backend = *entry.backend;
  doing("asking the device");
  DeviceInfo device;
  const Check first = attempt(entry.name, [&] {
    device = backend.device();
    Check check{entry.name, Finding::Good, device.name};
    check.values["name"] = device.name;
    if (device.target.kind == DeviceKind::Cuda)
      check.values["compute_capability"] = device.target.compute_capability;
    return check;
  });
  found(first);
  if (first.finding == Finding::Bad) return;
  for (const Check& check : check_versions(device)) found(check);
  const bool gpu = device.target.kind == DeviceKind::Cuda;
  if (gpu) found(check_device_memory(device, backend.telemetry()));
  if (!measure) return;
  doing("measuring its rates");
  std::optional<DeviceRates> measured;
  const Check rates = attempt(entry.name + " rates", [&] {
    measured = measure_rates(*entry.backend, gpu ? 0.7 : 0.3);
    return Check{};
  });
  if (!measured) return found(rates);
  for (const Check& check : check_rates(device, *measured)) found(check);
  if (gpu)
    found(attempt(entry.name + " overhead", [&] { return store_calibration(home, device, *measured); }));
}

Check check_pinned_memory(int64_t held, int64_t asked) {
  const bool limited = held < asked;
  // What the CUDA backend keeps for its copies, with some to spare.
  const bool scarce = held < (int64_t{256} << 20);
  Check check{"pinned memory", scarce ? Finding::Warning : Finding::Good,
              fmt::format("{} of host memory can be page-locked{}{}", bytes_text(held),
                          limited ? ", no more" : " and more",
                          scarce ? "; copies need some: raise the memory limit in .wslconfig" : "")};
  check.values = {{"bytes", held}, {"limited", limited}};
  return check;
}

std::string check_line(const Check& check) {
  return to_json(check).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string doing_line(const std::string& doing) {
  Json line;
  line["doing"] = doing;
  return line.dump();
}

namespace {

ErrorCode code_of(const std::string& name) {
  for (int code = 0; code < static_cast<int>(ErrorCode::Internal); ++code) {
    if (error_code_name(static_cast<ErrorCode>(code)) == name) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::Internal;
}

// A check as check_line() wrote it. Throws nlohmann's exceptions.
Check check_from_json(const Json& json) {
  Check check;
  check.subject = json.at("subject").get<std::string>();
  check.text = json.at("text").get<std::string>();
  const std::string finding = json.at("finding").get<std::string>();
  check.finding = *std::find_if(kFindings.begin(), kFindings.end() - 1,
                                [&](Finding candidate) { return finding_name(candidate) == finding; });
  if (json.contains("values")) check.values = json["values"];
  if (json.contains("code")) check.code = code_of(json["code"].get<std::string>());
  return check;
}

}  // namespace

std::vector<Check> checks_of_child(const std::vector<std::string>& command, const std::string& subject,
                                   double seconds) {
  std::vector<Check> checks;
  std::string doing = "starting";
  const auto take = [&](std::string_view line) {
    try {
      const Json json = parse_json<Json>(line);
      if (json.contains("doing")) {
        doing = json["doing"].get<std::string>();
      } else {
        checks.push_back(check_from_json(json));
      }
    } catch (const Json::exception&) {
      // A library's own words on standard output.
    }
  };
  const auto failed = [&](const std::string& what, const std::string& advice) {
    checks.push_back(
        {subject, Finding::Bad, fmt::format("{}: {}. {}", doing, what, advice), ErrorCode::Backend});
  };
  try {
    const ChildEnd end = run_child(command, seconds, take);
    if (!end.exited || end.exit_code != 0)
      failed(end.text, "Update or reinstall the driver; training on the CPU isn't affected.");
  } catch (const Error& error) {
    failed(error.what_happened(), error.what_to_do());
  }
  return checks;
}

}  // namespace lathe
