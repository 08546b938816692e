#include "kernels/cuda/backend.h"

#include <algorithm>
#include <array>

#include "kernels/cuda/executable.h"

namespace lathe::cuda {

namespace {

std::string library_version(int64_t version) {  // 91900 -> "9.19.0"; 0 -> "none"
  if (version == 0) return "none";
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string version_text(int version) {  // 13000 -> "13.0"
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

[[noreturn]] void unsupported(std::string what, std::string what_to_do) {
  throw Error(ErrorCode::Unsupported, std::move(what), std::move(what_to_do));
}

constexpr int kOldestArchitecture = 80;

void require_device(int ordinal) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    unsupported("The NVIDIA driver supports CUDA " + version_text(driver) + ", Lathe was built with CUDA " +
                    version_text(runtime) + ".",
                "Update the driver to 580 or newer.");
  }
  if (status != cudaSuccess || count == 0)
    unsupported(std::string("No GPU can be used: ") +
                    (status == cudaSuccess ? "the driver lists none." : cudaGetErrorString(status)),
                "Check nvidia-smi, and that CUDA_VISIBLE_DEVICES names a GPU.");
  if (ordinal < 0 || ordinal >= count)
    unsupported("There is no GPU number " + std::to_string(ordinal) + "; this machine has " +
                    std::to_string(count) + ".",
                "Choose a number from 0 to " + std::to_string(count - 1) + ".");
}

bool is_supported_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16;
}

}  // namespace

std::string Device::fingerprint() const {
  std::string text = info.name;
  for (const auto& [what, version] : info.versions)
    if (what != "driver") text += ", " + what + " " + version;
  return text;
}

CudaBackend::CudaBackend(int ordinal) : device_(std::make_shared<Device>()) {
  require_device(ordinal);
  Device& d = *device_;
  d.ordinal = ordinal;
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal), "finding the GPU");
  d.nvml = std::make_unique<Nvml>(bus.data());
  d.used_before_context = d.nvml->used_bytes().value_or(0);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "reading the GPU's properties");
  const int architecture = properties.major * 10 + properties.minor;
  if (architecture < kOldestArchitecture)
    unsupported(std::string(properties.name) + " has compute capability " + std::to_string(properties.major) +
                    "." + std::to_string(properties.minor) + "; Lathe needs 8.0 (Ampere) or newer.",
                "Train on the CPU backend, or on a newer GPU.");
  check(cudaSetDevice(ordinal), "starting the GPU");
  if (!kernels_run_here())
    unsupported("This build of Lathe has no kernels for " + std::string(properties.name) + " (sm_" +
                    std::to_string(architecture) + ").",
                "Build it with -DLATHE_CUDA_ARCHITECTURES=" + std::to_string(architecture) + ".");
  d.multiprocessors = properties.multiProcessorCount;
  d.l2_bytes = properties.l2CacheSize;
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
  d.info.backend = "cuda";
  d.info.name = properties.name;
  d.info.target = {DeviceKind::Cuda, architecture, true};
  d.info.total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  const std::string driver_version = d.nvml->driver_version();
  const std::string cudnn = library_version(cudnn_version());
  d.info.versions = {{"driver", driver_version.empty() ? "CUDA " + version_text(driver) : driver_version},
                     {"cuda", version_text(runtime)},
                     {"cublaslt", library_version(static_cast<int64_t>(cublasLtGetVersion()))},
                     {"cudnn", cudnn}};
  d.gemm = std::make_unique<GemmLibrary>();
  d.sdpa = std::make_unique<SdpaLibrary>(cudnn, architecture);
  const int64_t used = d.nvml->used_bytes().value_or(0);
  const int64_t added = d.used_before_context > 0 ? std::max<int64_t>(used - d.used_before_context, 0) : 0;
  d.own_bytes = d.nvml->process_bytes().value_or(added);
}

DeviceInfo CudaBackend::device() const {
  DeviceInfo info = device_->info;
  size_t free = 0, total = 0;
  check(cudaSetDevice(device_->ordinal), "choosing the GPU");
  check(cudaMemGetInfo(&free, &total), "reading free memory");
  // A run's own context is part of what it needs, so it counts as free while no run holds an arena.
  info.total_bytes = static_cast<int64_t>(total);
  info.free_bytes = std::min(static_cast<int64_t>(free) + device_->own_bytes, info.total_bytes);
  return info;
}

std::vector<std::string> CudaBackend::refusals(const StepProgram& program) const {
  std::vector<std::string> reasons;
  const auto add = [&](const std::string& reason) {
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
  };
  for (const Buffer& buffer : program.buffers)
    if (buffer.space != Space::Device)
      add("The CUDA backend keeps no tensors in host memory yet (" + buffer.name + ").");
  for (const Tensor& tensor : program.tensors)
    if (tensor.dtype == DType::F64)
      add("The CUDA backend computes in BF16 and FP32, not in FP64; use the CPU backend.");
  for (const Sequence& sequence : program.sequences) {
    for (const Op& op : sequence.ops) {
      if (op.stream != 0) add("The CUDA backend runs ops on one stream only.");
      if (op.kind != OpKind::Attention && op.kind != OpKind::AttentionBackward) continue;
      const Tensor& q = program.tensor(op.tensor(slot::Attention::Q));
      if (is_supported_float(q.dtype) && (q.shape[3] % 8 != 0 || q.shape[3] > 256))
        add("Attention on the GPU needs a head dim that is a multiple of 8 and at most 256; this model has " +
            std::to_string(q.shape[3]) + ".");
    }
  }
  return reasons;
}

std::unique_ptr<Executable> CudaBackend::prepare(const StepProgram& program, const MemoryPlan& plan,
                                                 const PrepareOptions& options) {
  const std::vector<std::string> reasons = refusals(program);
  if (!reasons.empty()) {
    std::string text;
    for (const std::string& reason : reasons) text += (text.empty() ? "" : " ") + reason;
    unsupported(text, "Change these settings, or train on the CPU backend.");
  }
  check(cudaSetDevice(device_->ordinal), "choosing the GPU");  // for this thread
  return std::make_unique<CudaExecutable>(device_, program, plan, options);
}

}  // namespace lathe::cuda
