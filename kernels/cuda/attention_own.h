// Lathe's own attention kernels: what may be called, with which shapes, strides and workspace.
//
// Causal grouped-query attention as kernels/api/op.h states it. Every launch is asynchronous on the given
// stream, allocates nothing, synchronises nothing, and may be captured into a CUDA graph. Results are a
// function of inputs, shapes and GPU model alone: two runs give the same bits, also for dq.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/api/tensor.h"

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace lathe {

// B, T, H, K, D of op.h. heads is a multiple of kv_heads; head_dim a multiple of 8, at most 256.
struct AttentionShape {
  int64_t batch = 1;
  int64_t context = 1;
  int64_t heads = 1;
  int64_t kv_heads = 1;
  int64_t head_dim = 64;
};

// A [B,T,heads,D] view: element (b,t,h,d) lies at data[(b*T + t)*row_stride + h*D + d]. row_stride is in
// elements, at least heads*D. data and every row start on 16 bytes.
struct AttentionView {
  const void* data = nullptr;
  int64_t row_stride = 0;
};
struct AttentionOutputView {
  void* data = nullptr;
  int64_t row_stride = 0;
};

struct AttentionForwardCall {
  AttentionShape shape;
  DType dtype = DType::BF16;  // of q, k, v, o: BF16 or F32
  double scale = 1;           // multiplies q·k
  AttentionView q, k, v;
  // I32 [B,T] or null: query t sees keys document_start[b,t]..t. A start outside 0..t is read as the nearer
  // end.
  const int32_t* document_start = nullptr;
  void* o = nullptr;     // [B,T,H,D] contiguous, 16-byte aligned
  float* lse = nullptr;  // [B,H,T]: natural logarithm of sum exp(scale q·k)
};

// Reads what the forward read and wrote; every element of dq, dk, dv is overwritten, nothing between rows is.
struct AttentionBackwardCall {
  AttentionShape shape;
  DType dtype = DType::BF16;
  double scale = 1;
  AttentionView q, k, v;
  const int32_t* document_start = nullptr;
  const void* o = nullptr;  // [B,T,H,D] contiguous, 16-byte aligned
  const float* lse = nullptr;
  const void* d_o = nullptr;  // [B,T,H,D] contiguous, 16-byte aligned
  AttentionOutputView dq, dk, dv;
  void* workspace =
      nullptr;  // attention_workspace_bytes(), 256-byte aligned; content before and after undefined
};

// Kernel families. Auto takes the best for the current device and shape; the name is what a run records.
enum class AttentionKernel : uint8_t { Auto, Fp32, MmaSync, Wgmma };
std::string_view attention_kernel_name(AttentionKernel kernel);  // "fp32", "mma_sync", "wgmma", "auto"

// The family Auto stands for here: needs a current CUDA device. Throws Unsupported where none can run.
AttentionKernel choose_attention_kernel(const AttentionShape& shape, DType dtype);

// Bytes the backward needs, the same for every kernel of a dtype: per query row of the padded context two
// statistics and one FP32 dq row, plus turn counters and tile bounds. The forward needs none.
size_t attention_workspace_bytes(const AttentionShape& shape, DType dtype);

// Both throw InvalidArgument for a call outside the rules above, Unsupported for a kernel this device can't
// run, Backend when a launch fails. The workspace's size is the caller's promise.
void attention_forward(const AttentionForwardCall& call, CUstream_st* stream,
                       AttentionKernel kernel = AttentionKernel::Auto);
void attention_backward(const AttentionBackwardCall& call, CUstream_st* stream,
                        AttentionKernel kernel = AttentionKernel::Auto);

}  // namespace lathe
