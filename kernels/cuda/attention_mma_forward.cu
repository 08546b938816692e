// BF16 attention forward on mma.sync (sm_80 and later), after FlashAttention-2: a thread block keeps BM
// queries, streams BN keys and values at a time through two shared-memory stages, and never writes a score to
// memory.
//
// Each warp owns 16 query rows: their scores, probabilities and output stay in its registers. Blocks with the
// most keys are started first, so that the causal triangle's short rows fill the gaps at the end.
#include <limits>

#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_mma.cuh"

namespace lathe::attention {
namespace {

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

template <int kHeadDim>  // padded
struct ForwardTile {
  static constexpr bool kWide = kHeadDim > 128;
  static constexpr int kQueries = kWide ? 64 : 128;
  static constexpr int kKeys = kWide ? 32 : 64;
  static constexpr int kThreads = kQueries / 16 * 32;
  static constexpr bool kQueriesInRegisters = !kWide;
  static constexpr int kQueryBytes = kQueries * kHeadDim * 2;
  static constexpr int kKeyBytes = kKeys * kHeadDim * 2;
  static constexpr int kSharedBytes = kQueryBytes + 4 * kKeyBytes;  // two stages of keys and values
  static_assert(kSharedBytes <= 99 * 1024, "what a consumer GPU gives one thread block");
};

struct ForwardParameters {
  const __nv_bfloat16 *q, *k, *v;
  int64_t q_stride, k_stride, v_stride;
  const int32_t* document_start;
  __nv_bfloat16* o;
  float* lse;
  int context, heads, group, head_dim, pairs;  // pairs = batch · heads
  float scale_log2;                            // scale · log2(e)
};

template <int kHeadDim>
__global__ void __launch_bounds__(ForwardTile<kHeadDim>::kThreads, 1)
    forward_kernel(const __grid_constant__ ForwardParameters p) {
  using Shape = ForwardTile<kHeadDim>;
  constexpr int kBM = Shape::kQueries;
  constexpr int kBN = Shape::kKeys;
  constexpr int kSteps = kHeadDim / 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t q_tile = shared_address(shared);
  const uint32_t kv_tiles = q_tile + Shape::kQueryBytes;  // stage s: keys at 2s, values at 2s+1

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int query_blocks = (p.context + kBM - 1) / kBM;
  const int query_block = query_blocks - 1 - static_cast<int>(blockIdx.x) / p.pairs;
  const int pair = static_cast<int>(blockIdx.x) % p.pairs;
  const int batch = pair / p.heads;
  const int head = pair % p.heads;
  const int first_query = query_block * kBM;
  const int64_t batch_row = static_cast<int64_t>(batch) * p.context;
  const __nv_bfloat16* q = p.q + batch_row * p.q_stride + head * p.head_dim;
  const __nv_bfloat16* k = p.k + batch_row * p.k_stride + head / p.group * p.head_dim;
  const __nv_bfloat16* v = p.v + batch_row * p.v_stride + head / p.group * p.head_dim;
  const int32_t* starts = p.document_start == nullptr ? nullptr : p.document_start + batch_row;

  // This thread's two rows, and the first key each of them and anyone in the block sees.
  const int warp_query = first_query + warp * 16;
  const int rows[2] = {warp_query + lane / 4, warp_query + lane / 4 + 8};
  int row_start[2] = {0, 0};
  int block_start = 0;
  if (starts != nullptr) {
    block_start = p.context;
#pragma unroll
    for (int i = 0; i < kBM; i += 32) {
      const int t = min(first_query + i + lane, p.context - 1);
      block_start = min(block_start, first_key(starts, t));
    }
    block_start = __reduce_min_sync(0xffffffffu, block_start);
#pragma unroll
    for (int r = 0; r < 2; ++r) row_start[r] = first_key(starts, min(rows[r], p.context - 1));
  }
  const int last_query = min(first_query + kBM, p.context) - 1;
  const int first_tile = block_start / kBN;
  const int last_tile = last_query / kBN;

  auto load_stage = [&](int stage, int tile) {
    const uint32_t at = kv_tiles + static_cast<uint32_t>(stage * 2 * Shape::kKeyBytes);
    load_tile<kBN, kHeadDim, Shape::kThreads>(at, k, p.k_stride, tile * kBN, p.context, p.head_dim);
    load_tile<kBN, kHeadDim, Shape::kThreads>(at + Shape::kKeyBytes, v, p.v_stride, tile * kBN, p.context,
                                              p.head_dim);
    commit_copies();
  };
  load_tile<kBM, kHeadDim, Shape::kThreads>(q_tile, q, p.q_stride, first_query, p.context, p.head_dim);
  load_stage(0, last_tile);
  wait_copies();
  __syncthreads();

  uint32_t q_fragments[Shape::kQueriesInRegisters ? kSteps : 1][4];
  if constexpr (Shape::kQueriesInRegisters) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      load_a<kHeadDim>(q_fragments[step], q_tile, warp * 16, step * 2, lane);
    }
  }

  float output[kHeadDim / 8][4] = {};
  float row_max[2] = {-kInfinity, -kInfinity};
  float row_sum[2] = {0, 0};  // this thread's columns only, until the end
  int stage = 0;
  for (int tile = last_tile; tile >= first_tile; --tile, stage ^= 1) {
    if (tile != last_tile) {
      wait_copies();
      __syncthreads();  // the tile has landed, and everybody has left the other stage
    }
    if (tile > first_tile) load_stage(stage ^ 1, tile - 1);
    const int tile_key = tile * kBN;
    if (tile_key > warp_query + 15) continue;  // all of it lies after all of this warp's rows
    const uint32_t k_tile = kv_tiles + static_cast<uint32_t>(stage * 2 * Shape::kKeyBytes);
    const uint32_t v_tile = k_tile + Shape::kKeyBytes;

    float scores[kBN / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      uint32_t a[4];
      if constexpr (!Shape::kQueriesInRegisters) load_a<kHeadDim>(a, q_tile, warp * 16, step * 2, lane);
#pragma unroll
      for (int n = 0; n < kBN / 16; ++n) {
        uint32_t b[4];
        load_b<kHeadDim>(b, k_tile, n * 16, step * 2, lane);
        if constexpr (Shape::kQueriesInRegisters) {
          multiply_add(scores[2 * n], q_fragments[step], b[0], b[1]);
          multiply_add(scores[2 * n + 1], q_fragments[step], b[2], b[3]);
        } else {
          multiply_add(scores[2 * n], a, b[0], b[1]);
          multiply_add(scores[2 * n + 1], a, b[2], b[3]);
        }
      }
    }

    if (tile_key + kBN - 1 > warp_query || starts != nullptr) {
#pragma unroll
      for (int n = 0; n < kBN / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = tile_key + n * 8 + (lane & 3) * 2 + (i & 1);
          if (key > rows[i / 2] || key < row_start[i / 2]) scores[n][i] = -kInfinity;
        }
      }
    }

    // Online softmax in base 2. A row that has seen no key yet keeps maximum -infinity and sum 0.
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = row_max[r];
#pragma unroll
      for (int n = 0; n < kBN / 8; ++n)
        largest = fmaxf(largest, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      const float offset = largest == -kInfinity ? 0.f : largest * p.scale_log2;
      const float shrink = exp2_fast(fmaf(row_max[r], p.scale_log2, -offset));
      row_max[r] = largest;
      row_sum[r] *= shrink;
#pragma unroll
      for (int n = 0; n < kBN / 8; ++n) {
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 2; ++i) {
          scores[n][i] = exp2_fast(fmaf(scores[n][i], p.scale_log2, -offset));
          row_sum[r] += scores[n][i];
        }
      }
#pragma unroll
      for (int d = 0; d < kHeadDim / 8; ++d) {
        output[d][2 * r] *= shrink;
        output[d][2 * r + 1] *= shrink;
      }
    }

#pragma unroll
    for (int n = 0; n < kBN / 16; ++n) {
      uint32_t a[4];
      round_to_a(a, scores[2 * n], scores[2 * n + 1]);
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        uint32_t b[4];
        load_b_transposed<kHeadDim>(b, v_tile, n * 16, d * 2, lane);
        multiply_add(output[2 * d], a, b[0], b[1]);
        multiply_add(output[2 * d + 1], a, b[2], b[3]);
      }
    }
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    row_sum[r] += __shfl_xor_sync(0xffffffffu, row_sum[r], 1);
    row_sum[r] += __shfl_xor_sync(0xffffffffu, row_sum[r], 2);
    if (rows[r] >= p.context) continue;
    const float inverse = 1.f / row_sum[r];
    __nv_bfloat16* o = p.o + ((batch_row + rows[r]) * p.heads + head) * p.head_dim + (lane & 3) * 2;
#pragma unroll
    for (int d = 0; d < kHeadDim / 8; ++d) {
      if (d * 8 < p.head_dim) {
        *reinterpret_cast<uint32_t*>(o + d * 8) =
            pack_bf16(output[d][2 * r] * inverse, output[d][2 * r + 1] * inverse);
      }
    }
    if ((lane & 3) == 0) {
      p.lse[static_cast<int64_t>(pair) * p.context + rows[r]] =
          (row_max[r] * p.scale_log2 + log2f(row_sum[r])) * kLn2;
    }
  }
}

template <int kHeadDim>
void launch(const ForwardParameters& parameters, cudaStream_t stream) {
  using Shape = ForwardTile<kHeadDim>;
  const void* kernel = reinterpret_cast<const void*>(&forward_kernel<kHeadDim>);
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes),
          "Reserving shared memory for attention's forward");
  const int query_blocks = (parameters.context + Shape::kQueries - 1) / Shape::kQueries;
  forward_kernel<kHeadDim><<<static_cast<unsigned>(query_blocks * parameters.pairs), Shape::kThreads,
                             Shape::kSharedBytes, stream>>>(parameters);
  require(cudaGetLastError(), "Launching attention's forward");
}

}  // namespace

void forward_mma(const AttentionForwardCall& call, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  ForwardParameters p{};
  p.q = static_cast<const __nv_bfloat16*>(call.q.data);
  p.k = static_cast<const __nv_bfloat16*>(call.k.data);
  p.v = static_cast<const __nv_bfloat16*>(call.v.data);
  p.q_stride = call.q.row_stride;
  p.k_stride = call.k.row_stride;
  p.v_stride = call.v.row_stride;
  p.document_start = call.document_start;
  p.o = static_cast<__nv_bfloat16*>(call.o);
  p.lse = call.lse;
  p.context = static_cast<int>(s.context);
  p.heads = static_cast<int>(s.heads);
  p.group = static_cast<int>(s.heads / s.kv_heads);
  p.head_dim = static_cast<int>(s.head_dim);
  p.pairs = static_cast<int>(s.batch * s.heads);
  p.scale_log2 = static_cast<float>(call.scale) * kLog2E;
  switch (compiled_head_dim(s.head_dim)) {
    case 32:
      return launch<32>(p, stream);
    case 64:
      return launch<64>(p, stream);
    case 80:
      return launch<80>(p, stream);
    case 96:
      return launch<96>(p, stream);
    case 112:
      return launch<112>(p, stream);
    case 128:
      return launch<128>(p, stream);
    case 192:
      return launch<192>(p, stream);
    default:
      return launch<256>(p, stream);
  }
}

}  // namespace lathe::attention
