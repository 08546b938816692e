// The CUDA module's one exported function.
#include "kernels/cuda/module.h"

#include <exception>

#include "kernels/api/error.h"
#include "kernels/cuda/backend.h"

#ifdef _WIN32
#define LATHE_EXPORT __declspec(dllexport)
#else
#define LATHE_EXPORT __attribute__((visibility("default")))
#endif

extern "C" LATHE_EXPORT void lathe_open_cuda_module(int device, lathe::BackendEntry* entry) {
  entry->name = "cuda";
  try {
    entry->backend = std::make_unique<lathe::cuda::CudaBackend>(device);
  } catch (const lathe::Error& error) {
    entry->unavailable = error.what_happened() + (error.what_to_do().empty() ? "" : " " + error.what_to_do());
  } catch (const std::exception& error) {
    entry->unavailable = error.what();
  }
}
