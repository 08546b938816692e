#include "app/common/backends.h"

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda/cuda_backend.h"

namespace lathe {

BackendRegistry make_cpu_backends() {
  BackendRegistry registry;
  registry.push_back({"cpu", make_cpu_backend(), {}});
  return registry;
}

BackendRegistry make_backends() {
  BackendRegistry registry;
  registry.push_back(cuda_backend_entry());
  registry.push_back({"cpu", make_cpu_backend(), {}});
  return registry;
}

}  // namespace lathe
