// What the kernel families offer attention_own.cu, and what they share: padded head dims, workspace,
// launches.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention_own.h"

namespace lathe::attention {

void forward_fp32(const AttentionForwardCall& call, cudaStream_t stream);
void backward_fp32(const AttentionBackwardCall& call, cudaStream_t stream);
void forward_mma(const AttentionForwardCall& call, cudaStream_t stream);
void backward_mma(const AttentionBackwardCall& call, cudaStream_t stream);

// Hopper only: whether this build and the current device have it for a head dim.
bool wgmma_available(const AttentionShape& shape);
void forward_wgmma(const AttentionForwardCall& call, cudaStream_t stream);
void backward_wgmma(const AttentionBackwardCall& call, cudaStream_t stream);

// The head dims kernels are compiled for; others run in the next one, zero-filled.
constexpr int kCompiledHeadDims[] = {32, 64, 80, 96, 112, 128, 192, 256};
int compiled_head_dim(int64_t head_dim);

inline constexpr int kContextPadding = 128;  // query rows in the workspace are padded to this
inline constexpr int kSmallestTile = 16;     // rows of the smallest query tile

// The workspace cut into its parts. Statistics are [B,H,padded context].
struct Workspace {
  int64_t padded_context = 0;
  float* delta = nullptr;  // sum over d of o·dO; 0 in padded rows
  // Only in BF16:
  float* lse_log2 = nullptr;       // logsumexp in base 2; +infinity in padded rows
  float* dq = nullptr;             // [B,H,query tile][in the order the tile's threads hold it]
  uint32_t* turn = nullptr;        // [B,H,query tile]: contributions added to dq so far
  int32_t* first_block = nullptr;  // [B,query tile]: first key block its queries see
  int32_t* first_key = nullptr;    // [B,padded context]: the first key each query sees
  uint32_t* ticket = nullptr;      // [1]: thread blocks started
  size_t bytes = 0;
};
Workspace cut_workspace(const AttentionShape& shape, DType dtype, void* base);

// First kernel of a BF16 backward: fills delta, lse_log2, first_key, and first_block for the given tile
// sizes, zeroes turn and ticket.
void launch_row_statistics(const AttentionBackwardCall& call, const Workspace& workspace, int query_tile,
                           int key_block, cudaStream_t stream);

// Throw Backend with `what` and CUDA's text unless the status is cudaSuccess.
void require(cudaError_t status, const char* what);

// Thread blocks of a kernel that the current device holds at once; allows the kernel that much shared memory.
int resident_blocks(const void* kernel, int threads, size_t shared_bytes);

}  // namespace lathe::attention
