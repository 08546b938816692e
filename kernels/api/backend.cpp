#include "kernels/api/backend.h"

#include "kernels/api/error.h"

namespace lathe {

Backend& find_backend(const BackendRegistry& registry, const std::string& name) {
  std::string reasons;
  Backend* fallback = nullptr;
  for (const BackendEntry& entry : registry) {
    if (name != "auto" && entry.name != name) continue;
    if (entry.backend) {
      if (name != "auto" || entry.backend->device().target.kind == DeviceKind::Cuda) return *entry.backend;
      fallback = entry.backend.get();
    } else {
      reasons += (reasons.empty() ? "" : " ") + entry.unavailable;
    }
  }
  if (fallback) return *fallback;
  throw Error(ErrorCode::Unsupported, "No device '" + name + "' can be used.",
              reasons.empty() ? "Set run.device to auto, cpu or cuda." : reasons);
}

}  // namespace lathe
