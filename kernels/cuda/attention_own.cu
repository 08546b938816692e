// Checks of attention calls, the choice of a kernel family, and the backward's workspace.
#include "kernels/cuda/attention_own.h"

#include <string>

#include "kernels/api/error.h"
#include "kernels/cuda/attention_family.h"

namespace lathe {
namespace {

using attention::require;

void refuse(const std::string& what, const char* remedy) {
  throw Error(ErrorCode::InvalidArgument, "Attention was called with " + what + ".", remedy);
}

void check_shape(const AttentionShape& s, DType dtype) {
  if (dtype != DType::BF16 && dtype != DType::F32) {
    refuse("dtype " + std::string(dtype_name(dtype)), "Own attention kernels take bf16 and f32.");
  }
  if (s.batch < 1 || s.context < 1 || s.heads < 1 || s.kv_heads < 1) {
    refuse("an empty shape", "Give batch, context, heads and kv_heads of at least 1.");
  }
  if (s.heads % s.kv_heads != 0) {
    refuse(std::to_string(s.heads) + " heads over " + std::to_string(s.kv_heads) + " key/value heads",
           "Make the number of heads a multiple of the number of key/value heads.");
  }
  if (s.head_dim < 8 || s.head_dim > 256 || s.head_dim % 8 != 0) {
    refuse("head dim " + std::to_string(s.head_dim), "Choose a multiple of 8 between 8 and 256.");
  }
  constexpr int64_t kMostRows = int64_t{1} << 30;  // row indices are 32 bits wide in the kernels
  if (s.context > (1 << 24) || s.batch > kMostRows / s.context ||
      s.heads > kMostRows / (s.batch * s.context)) {
    refuse("more than 2^30 query rows", "Use a smaller micro-batch or context.");
  }
}

bool aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

void check_view(const char* name, const void* data, int64_t row_stride, int64_t columns, DType dtype) {
  if (data == nullptr || !aligned(data) || row_stride < columns || row_stride >= 1 << 23 ||
      row_stride * dtype_bytes(dtype) % 16 != 0) {
    refuse(std::string("a view of ") + name +
               " that is null, not aligned to 16 bytes or narrower than its heads",
           "Pass rows of at least heads x head_dim and less than 2^23 elements that each start on 16 bytes.");
  }
}

void check_buffer(const char* name, const void* data) {
  if (data == nullptr || !aligned(data)) {
    refuse(std::string(name) + " null or not aligned to 16 bytes", "Pass a device buffer from the arena.");
  }
}

template <class Call>
void check_inputs(const Call& call) {
  const AttentionShape& s = call.shape;
  check_shape(s, call.dtype);
  if (!(call.scale > 0)) refuse("a scale that is not positive", "Pass 1/sqrt(head_dim).");
  check_view("q", call.q.data, call.q.row_stride, s.heads * s.head_dim, call.dtype);
  check_view("k", call.k.data, call.k.row_stride, s.kv_heads * s.head_dim, call.dtype);
  check_view("v", call.v.data, call.v.row_stride, s.kv_heads * s.head_dim, call.dtype);
  check_buffer("o", call.o);
  check_buffer("lse", call.lse);
}

int compute_capability() {
  int device = 0;
  int major = 0;
  int minor = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
          "cudaDeviceGetAttribute");
  require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
          "cudaDeviceGetAttribute");
  return major * 10 + minor;
}

AttentionKernel resolve(AttentionKernel kernel, const AttentionShape& shape, DType dtype) {
  if (kernel == AttentionKernel::Auto) return choose_attention_kernel(shape, dtype);
  if ((kernel == AttentionKernel::Fp32) != (dtype == DType::F32)) {
    throw Error(ErrorCode::Unsupported,
                "The attention kernel " + std::string(attention_kernel_name(kernel)) + " does not take " +
                    std::string(dtype_name(dtype)) + ".",
                "Let the kernel be chosen automatically.");
  }
  if (kernel == AttentionKernel::Wgmma && !attention::wgmma_available(shape)) {
    throw Error(
        ErrorCode::Unsupported,
        "The wgmma attention kernel does not run here: it needs a Hopper GPU, a build for sm_90a and a head "
        "dim that pads to 64, 112 or 128.",
        "Let the kernel be chosen automatically.");
  }
  return kernel;
}

}  // namespace

std::string_view attention_kernel_name(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::Auto:
      return "auto";
    case AttentionKernel::Fp32:
      return "fp32";
    case AttentionKernel::MmaSync:
      return "mma_sync";
    case AttentionKernel::Wgmma:
      return "wgmma";
  }
  return "unknown";
}

AttentionKernel choose_attention_kernel(const AttentionShape& shape, DType dtype) {
  check_shape(shape, dtype);
  if (dtype == DType::F32) return AttentionKernel::Fp32;
  const int capability = compute_capability();
  if (capability < 80) {
    throw Error(ErrorCode::Unsupported,
                "BF16 attention needs compute capability 8.0; this GPU has " +
                    std::to_string(capability / 10) + "." + std::to_string(capability % 10) + ".",
                "Train in fp32, or use an RTX 30 series card or newer.");
  }
  return attention::wgmma_available(shape) ? AttentionKernel::Wgmma : AttentionKernel::MmaSync;
}

size_t attention_workspace_bytes(const AttentionShape& shape, DType dtype) {
  check_shape(shape, dtype);
  return attention::cut_workspace(shape, dtype, nullptr).bytes;
}

void attention_forward(const AttentionForwardCall& call, CUstream_st* stream, AttentionKernel kernel) {
  check_inputs(call);
  switch (resolve(kernel, call.shape, call.dtype)) {
    case AttentionKernel::Fp32:
      return attention::forward_fp32(call, stream);
    case AttentionKernel::Wgmma:
      return attention::forward_wgmma(call, stream);
    default:
      return attention::forward_mma(call, stream);
  }
}

void attention_backward(const AttentionBackwardCall& call, CUstream_st* stream, AttentionKernel kernel) {
  check_inputs(call);
  const AttentionShape& s = call.shape;
  check_view("dq", call.dq.data, call.dq.row_stride, s.heads * s.head_dim, call.dtype);
  check_view("dk", call.dk.data, call.dk.row_stride, s.kv_heads * s.head_dim, call.dtype);
  check_view("dv", call.dv.data, call.dv.row_stride, s.kv_heads * s.head_dim, call.dtype);
  check_buffer("d_o", call.d_o);
  check_buffer("workspace", call.workspace);
  switch (resolve(kernel, call.shape, call.dtype)) {
    case AttentionKernel::Fp32:
      return attention::backward_fp32(call, stream);
    case AttentionKernel::Wgmma:
      return attention::backward_wgmma(call, stream);
    default:
      return attention::backward_mma(call, stream);
  }
}

namespace attention {

int compiled_head_dim(int64_t head_dim) {
  for (const int compiled : kCompiledHeadDims) {
    if (head_dim <= compiled) return compiled;
  }
  return 0;  // check_shape() lets none through
}

Workspace cut_workspace(const AttentionShape& s, DType dtype, void* base) {
  Workspace w;
  w.padded_context = (s.context + kContextPadding - 1) / kContextPadding * kContextPadding;
  auto take = [&](int64_t elements) {
    void* at = base == nullptr ? nullptr : static_cast<char*>(base) + w.bytes;
    w.bytes += (static_cast<size_t>(elements) * 4 + 255) / 256 * 256;
    return at;
  };
  const int64_t rows = s.batch * s.heads * w.padded_context;
  w.delta = static_cast<float*>(take(rows));
  if (dtype == DType::F32) return w;
  w.lse_log2 = static_cast<float*>(take(rows));
  w.dq = static_cast<float*>(take(rows * compiled_head_dim(s.head_dim)));
  w.turn = static_cast<uint32_t*>(take(rows / kSmallestTile));
  w.first_block = static_cast<int32_t*>(take(s.batch * w.padded_context / kSmallestTile));
  w.first_key = static_cast<int32_t*>(take(s.batch * w.padded_context));
  w.ticket = static_cast<uint32_t*>(take(1));
  return w;
}

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::Backend, std::string(what) + " failed: " + cudaGetErrorString(status) + ".",
              "Run `lathe doctor`; if the GPU itself is well, please report this.");
}

int resident_blocks(const void* kernel, int threads, size_t shared_bytes) {
  int device = 0;
  int processors = 0;
  int each = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  require(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          "Reserving shared memory for an attention kernel");
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (each < 1) {
    throw Error(ErrorCode::Unsupported, "An attention kernel does not fit on this GPU.",
                "Choose a smaller head dim, or attention through cuDNN.");
  }
  return processors * each;
}

}  // namespace attention
}  // namespace lathe
