// Loads the CUDA module, or says why there is none. Compiled without CUDA, on every platform.
#include <exception>

#include "kernels/api/error.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/module.h"
#include "kernels/cuda/shared_library.h"

namespace lathe {

namespace {

BackendEntry unavailable(std::string reason) {
  return {"cuda", nullptr, std::move(reason)};
}

#ifdef LATHE_CUDA_MODULE
BackendEntry load(int device) {
  // The driver first, into the global scope: the module's libraries resolve their driver calls against it.
  const SharedLibrary driver = open_shared_library(kDriverLibrary, LibraryScope::Global);
  if (!driver.handle)
    return unavailable("No NVIDIA driver was found (" + driver.error +
                       "). Install the driver of your GPU (580 or newer), or train on the CPU backend.");
  SharedLibrary module =
      open_shared_library(folder_of_this_program() / LATHE_CUDA_MODULE, LibraryScope::Local);
  if (!module.handle) {
    const SharedLibrary installed = open_shared_library(LATHE_CUDA_MODULE, LibraryScope::Local);
    if (!installed.handle)
      return unavailable(
          "The CUDA backend could not be loaded (" + module.error +
          "). It needs cuBLASLt 13 and cuDNN 9: run installer/quickstart.sh --with-cuda, or put their "
          "folders into the library search path.");
    module = installed;
  }
  const auto open = reinterpret_cast<OpenCudaModule*>(find_symbol(module, kOpenCudaModule));
  if (!open)
    return unavailable("The CUDA module next to this program is of another version. Reinstall Lathe.");
  BackendEntry entry{"cuda", nullptr, {}};
  open(device, &entry);
  return entry;
}
#endif

}  // namespace

BackendEntry cuda_backend_entry([[maybe_unused]] int device) {
#ifdef LATHE_CUDA_MODULE
  try {
    return load(device);
  } catch (const std::exception& error) {
    return unavailable(error.what());
  }
#else
  return unavailable(
      "This build of Lathe has no CUDA backend. Build it with a CUDA 13 toolkit (installer/quickstart.sh "
      "--with-cuda), "
      "or train on the CPU backend.");
#endif
}

std::unique_ptr<Backend> make_cuda_backend(int device) {
  BackendEntry entry = cuda_backend_entry(device);
  if (!entry.backend)
    throw Error(ErrorCode::Unsupported, "The CUDA backend can't be used.", entry.unavailable);
  return std::move(entry.backend);
}

}  // namespace lathe
