// lathe_gpu_bench probe | kernels | step PRESET [key=value …]
#include <cstdio>
#include <exception>
#include <string>

#include "kernels/cuda/cuda_backend.h"
#include "tests/gpu/kernel_bench.h"

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "probe" && what != "kernels" && !(what == "step" && argc > 2)) {
    std::fprintf(stderr, "usage: lathe_gpu_bench probe | kernels | step PRESET [key=value ...]\n");
    return 2;
  }
  const lathe::BackendEntry entry = lathe::cuda_backend_entry();
  if (!entry.backend) {
    std::fprintf(stderr, "*** NOT RUN, no GPU: %s\n", entry.unavailable.c_str());
    return 77;
  }
  try {
    if (what == "probe") {
      const lathe::DeviceInfo info = entry.backend->device();
      std::printf("%s, %lld MiB free of %lld", info.name.c_str(),
                  static_cast<long long>(info.free_bytes >> 20),
                  static_cast<long long>(info.total_bytes >> 20));
      for (const auto& [name, version] : info.versions) std::printf(", %s %s", name.c_str(), version.c_str());
      std::printf("\n");
    } else if (what == "kernels") {
      lathe::test::bench_kernels(*entry.backend);
    } else {
      lathe::test::bench_step(*entry.backend, argv[2], {argv + 3, argv + argc});
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
