#include "app/cli/gpu_choice.h"

#include "app/common/backends.h"
#include "core/platform/files.h"

namespace lathe::cli {

EstimateRequest GpuChoice::estimate_request() const {
  EstimateRequest request;
  request.target = target;
  if (calibration.overhead_bytes) request.overhead_bytes = *calibration.overhead_bytes;
  return request;
}

GpuChoice choose_gpu(const std::string& text, const Context& context) {
  GpuChoice choice;
  const std::filesystem::path home = context.home.empty() ? default_home() : context.home;
  if (text == "this") {
    for (const BackendEntry& entry : make_backends()) {
      if (!entry.backend || entry.backend->device().target.kind != DeviceKind::Cuda) continue;
      const DeviceInfo device = entry.backend->device();
      choice.name = device.name;
      choice.target = device.target;
      choice.memory_bytes = device.free_bytes;
      choice.entry = find_gpu(device.name);
      choice.calibration = load_calibration(home, device.name);
      return choice;
    }
    return choice;
  }
  choice.entry = &match_gpu(text);
  choice.name = choice.entry->name;
  choice.target = choice.entry->target();
  choice.memory_bytes = choice.entry->memory_bytes;
  // The driver's name has the maker in front; a calibration made on such a card here holds for it.
  choice.calibration = load_calibration(home, "NVIDIA " + choice.name);
  return choice;
}

}  // namespace lathe::cli
