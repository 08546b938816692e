// BF16 attention forward for Hopper (sm_90a), after FlashAttention-3: a producer warp feeds keys and values
// through the copy engine while two warpgroups of 64 queries each multiply with wgmma and take turns at it,
// so that one's softmax hides behind the other's products; within a warpgroup, the next scores are computed
// while the last probabilities meet their values.
//
// Thread blocks are persistent: query blocks of a chunk of heads, longest first, are dealt to them in
// serpentine rounds, which evens out the causal triangle, and the producer runs ahead into the next query
// block.
//
// What is handed over, and what orders it there; and back. Only the copy engine writes shared memory and only
// products read it, so no proxy fence is needed; warps arrive with one lane after products_wait.
//
//   q             producer > consumers   q_full; the last scores' products_wait, q_empty
//   k, v          producer > consumers   k_full, v_full; products_wait, k_empty, v_empty
//   tensor cores  consumer > the other   named barriers 1 and 2; the second's last arrival stays unused
//
// No circle of waits: a consumer in its turn waits only for values that are loaded without the other's next
// turn, and outside it for nothing that its own next turn brings.
#include <algorithm>

#include "kernels/cuda/attention_family.h"
#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/attention_tensor_map.h"
#include "kernels/cuda/attention_wgmma.cuh"

namespace lathe::attention {
namespace {

namespace hw = hopper;

constexpr float kLog2E = 1.4426950408889634f;
[[maybe_unused]] constexpr float kLn2 = 0.6931471805599453f;
constexpr int kThreads = 384;  // producer warpgroup, two consumer warpgroups
constexpr int kBM = 128;
constexpr int kBN = 128;
constexpr int kStages = 2;
[[maybe_unused]] constexpr int kConsumerWarps = 8;

template <int kHeadDim>
struct ForwardLayout {
  static constexpr int kQueryBytes = hw::tile_bytes(kBM, kHeadDim);
  static constexpr int kKeyBytes = hw::tile_bytes(kBN, kHeadDim);
  static constexpr int kAlignment = 1024;
  static constexpr int kSharedBytes = kQueryBytes + 2 * kStages * kKeyBytes + kAlignment;
};

struct ForwardParameters {
  CUtensorMap q, k, v;
  const int32_t* document_start;
  __nv_bfloat16* o;
  float* lse;
  int context, heads, group, head_dim, pairs, query_blocks;
  // Pairs worked on together, so that their keys and values fit in half the L2 cache; rounds of dealing out a
  // chunk's query blocks; rounds in all.
  int chunk, chunk_rounds, rounds;
  float scale_log2;
};

// The query blocks one thread block works on, and the key tiles of each.
struct ForwardWork {
  int first_query, pair, batch, head, first_tile, last_tile;

  // False when there is no round'th one. Called by whole warps.
  __device__ __forceinline__ bool find(const ForwardParameters& p, int round, int lane) {
    const int grid = static_cast<int>(gridDim.x);
    const int index = static_cast<int>(blockIdx.x);
    const int chunk = round / p.chunk_rounds;
    const int pass = round - chunk * p.chunk_rounds;
    const int position = pass * grid + (((pass + chunk) & 1) != 0 ? grid - 1 - index : index);
    const int pairs = min(p.chunk, p.pairs - chunk * p.chunk);
    if (position >= p.query_blocks * pairs) return false;
    first_query = (p.query_blocks - 1 - position / pairs) * kBM;
    pair = chunk * p.chunk + position % pairs;
    batch = pair / p.heads;
    head = pair % p.heads;
    last_tile = (min(first_query + kBM, p.context) - 1) / kBN;
    first_tile = 0;
    if (p.document_start != nullptr) {
      const int32_t* starts = p.document_start + static_cast<int64_t>(batch) * p.context;
      int first = p.context;
#pragma unroll
      for (int i = 0; i < kBM; i += 32) {
        first = min(first, first_key(starts, min(first_query + i + lane, p.context - 1)));
      }
      first_tile = __reduce_min_sync(0xffffffffu, first) / kBN;
    }
    return true;
  }
};

struct ForwardBarriers {
  uint64_t q_full, q_empty;
  uint64_t k_full[kStages], k_empty[kStages], v_full[kStages], v_empty[kStages];
};

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    wgmma_forward_kernel([[maybe_unused]] const __grid_constant__ ForwardParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Layout = ForwardLayout<kHeadDim>;
  constexpr float kInfinity = __builtin_huge_valf();
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ ForwardBarriers barriers;
  const uint32_t q_tile = (shared_address(shared) + Layout::kAlignment - 1) & ~(Layout::kAlignment - 1u);
  const uint32_t k_tiles = q_tile + Layout::kQueryBytes;
  const uint32_t v_tiles = k_tiles + kStages * Layout::kKeyBytes;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  auto at = [](uint64_t& barrier) { return shared_address(&barrier); };

  if (threadIdx.x == 0) {
    hw::barrier_init(at(barriers.q_full), 1);
    hw::barrier_init(at(barriers.q_empty), kConsumerWarps);
    for (int s = 0; s < kStages; ++s) {
      hw::barrier_init(at(barriers.k_full[s]), 1);
      hw::barrier_init(at(barriers.k_empty[s]), kConsumerWarps);
      hw::barrier_init(at(barriers.v_full[s]), 1);
      hw::barrier_init(at(barriers.v_empty[s]), kConsumerWarps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    hw::publish_shared();
  }
  __syncthreads();

  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x >= 32) return;
    if (lane == 0) {
      hw::prefetch_map(&p.q);
      hw::prefetch_map(&p.k);
      hw::prefetch_map(&p.v);
    }
    int count = 0;  // key tiles so far
    int items = 0;  // query blocks so far
    for (int round = 0; round < p.rounds; ++round) {
      ForwardWork work;
      if (!work.find(p, round, lane)) continue;
      if (lane == 0) {
        const int kv_head = work.head / p.group;
        hw::barrier_wait(at(barriers.q_empty), (items & 1) ^ 1);
        hw::barrier_expect(at(barriers.q_full), Layout::kQueryBytes);
        hw::load_tile<kBM, kHeadDim>(q_tile, &p.q, at(barriers.q_full), work.head, work.first_query,
                                     work.batch);
        for (int tile = work.last_tile; tile >= work.first_tile; --tile, ++count) {
          const int stage = count % kStages;
          const uint32_t parity = (count / kStages & 1) ^ 1;
          hw::barrier_wait(at(barriers.k_empty[stage]), parity);
          hw::barrier_expect(at(barriers.k_full[stage]), Layout::kKeyBytes);
          hw::load_tile<kBN, kHeadDim>(k_tiles + stage * Layout::kKeyBytes, &p.k, at(barriers.k_full[stage]),
                                       kv_head, tile * kBN, work.batch);
          hw::barrier_wait(at(barriers.v_empty[stage]), parity);
          hw::barrier_expect(at(barriers.v_full[stage]), Layout::kKeyBytes);
          hw::load_tile<kBN, kHeadDim>(v_tiles + stage * Layout::kKeyBytes, &p.v, at(barriers.v_full[stage]),
                                       kv_head, tile * kBN, work.batch);
        }
      }
      ++items;
      __syncwarp();
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const int consumer = warpgroup - 1;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  // Named barriers 1 and 2 hand the tensor cores from one consumer to the other; the first starts.
  auto take_cores = [&] { hw::named_sync(1 + consumer, 256); };
  auto pass_cores = [&] { hw::named_arrive(2 - consumer, 256); };
  if (consumer == 1) pass_cores();
  auto release = [&](uint64_t& barrier) {
    __syncwarp();
    if (lane == 0) hw::barrier_arrive(at(barrier));
  };

  const uint32_t my_queries = q_tile + static_cast<uint32_t>(consumer * 64 * hw::kPanelRowBytes);
  int count = 0;
  int items = 0;
  for (int round = 0; round < p.rounds; ++round) {
    ForwardWork work;
    if (!work.find(p, round, lane)) continue;
    const int32_t* starts = p.document_start == nullptr
                                ? nullptr
                                : p.document_start + static_cast<int64_t>(work.batch) * p.context;
    const int first_row = work.first_query + consumer * 64;
    const int rows[2] = {first_row + warp * 16 + lane / 4, first_row + warp * 16 + lane / 4 + 8};
    const int row_start[2] = {first_key(starts, min(rows[0], p.context - 1)),
                              first_key(starts, min(rows[1], p.context - 1))};
    float output[kHeadDim / 2];
    float scores[kBN / 2];
    uint32_t probabilities[kBN / 16][4];
    float row_max[2] = {-kInfinity, -kInfinity};
    float row_sum[2] = {0, 0};
    float shrink[2];

    auto issue_scores = [&](int stage) {
#pragma unroll
      for (int step = 0; step < kHeadDim / 16; ++step) {
        hw::Product<kBN>::template shared<false, false>(
            scores, hw::along_columns<kBM>(my_queries, step),
            hw::along_columns<kBN>(k_tiles + static_cast<uint32_t>(stage * Layout::kKeyBytes), step),
            step > 0);
      }
      hw::products_commit();
    };
    auto issue_output = [&](int stage, bool accumulate) {
#pragma unroll
      for (int step = 0; step < kBN / 16; ++step) {
        hw::Product<kHeadDim>::template registers<true>(
            output, probabilities[step],
            hw::along_rows<kBN>(v_tiles + static_cast<uint32_t>(stage * Layout::kKeyBytes), step),
            accumulate || step > 0);
      }
      hw::products_commit();
    };
    // Masks and exponentiates the scores of a tile, with the factor by which earlier sums shrink.
    auto softmax = [&](int tile) {
      if (tile * kBN + kBN - 1 > first_row || starts != nullptr) {
#pragma unroll
        for (int i = 0; i < kBN / 2; ++i) {
          const int key = tile * kBN + i / 4 * 8 + (lane & 3) * 2 + (i & 1);
          const int r = i / 2 & 1;
          if (key > rows[r] || key < row_start[r]) scores[i] = -kInfinity;
        }
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float largest = row_max[r];
#pragma unroll
        for (int n = 0; n < kBN / 8; ++n) {
          largest = fmaxf(largest, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
        }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        const float offset = largest == -kInfinity ? 0.f : largest * p.scale_log2;
        shrink[r] = exp2_fast(fmaf(row_max[r], p.scale_log2, -offset));
        row_max[r] = largest;
        row_sum[r] *= shrink[r];
#pragma unroll
        for (int n = 0; n < kBN / 8; ++n) {
#pragma unroll
          for (int i = 4 * n + 2 * r; i < 4 * n + 2 * r + 2; ++i) {
            scores[i] = exp2_fast(fmaf(scores[i], p.scale_log2, -offset));
            row_sum[r] += scores[i];
          }
        }
      }
    };
    auto round_probabilities = [&] {
#pragma unroll
      for (int step = 0; step < kBN / 16; ++step) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          probabilities[step][i] = pack_bf16(scores[8 * step + 2 * i], scores[8 * step + 2 * i + 1]);
        }
      }
    };

    hw::barrier_wait(at(barriers.q_full), items & 1);
    hw::barrier_wait(at(barriers.k_full[count % kStages]), count / kStages & 1);
    take_cores();
    hw::products_begin();
    issue_scores(count % kStages);
    pass_cores();
    hw::products_wait<0>();
    hw::settle(scores);
    release(barriers.k_empty[count % kStages]);
    softmax(work.last_tile);
    round_probabilities();
    for (int tile = work.last_tile - 1; tile >= work.first_tile; --tile, ++count) {
      const int stage =
          count % kStages;  // of the values that probabilities wait for; the next keys lie one on
      const int next = (count + 1) % kStages;
      hw::barrier_wait(at(barriers.k_full[next]), (count + 1) / kStages & 1);
      take_cores();
      hw::products_begin();
      issue_scores(next);
      hw::barrier_wait(at(barriers.v_full[stage]), count / kStages & 1);
      issue_output(stage, tile != work.last_tile - 1);
      pass_cores();
      hw::products_wait<1>();
      hw::settle(scores);
      release(barriers.k_empty[next]);
      softmax(tile);
      hw::products_wait<0>();
      hw::settle(output);
      release(barriers.v_empty[stage]);
      round_probabilities();
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] *= shrink[i / 2 & 1];
    }
    release(barriers.q_empty);
    const int stage = count % kStages;
    hw::barrier_wait(at(barriers.v_full[stage]), count / kStages & 1);
    take_cores();
    hw::products_begin();
    issue_output(stage, work.last_tile != work.first_tile);
    pass_cores();
    hw::products_wait<0>();
    hw::settle(output);
    release(barriers.v_empty[stage]);
    ++count;
    ++items;

#pragma unroll
    for (int r = 0; r < 2; ++r) {
      row_sum[r] += __shfl_xor_sync(0xffffffffu, row_sum[r], 1);
      row_sum[r] += __shfl_xor_sync(0xffffffffu, row_sum[r], 2);
      if (rows[r] >= p.context) continue;
      const float inverse = 1.f / row_sum[r];
      const int64_t row = static_cast<int64_t>(work.batch) * p.context + rows[r];
      __nv_bfloat16* const o = p.o + (row * p.heads + work.head) * p.head_dim + (lane & 3) * 2;
#pragma unroll
      for (int d = 0; d < kHeadDim / 8; ++d) {
        if (d * 8 < p.head_dim) {
          *reinterpret_cast<uint32_t*>(o + d * 8) =
              pack_bf16(output[4 * d + 2 * r] * inverse, output[4 * d + 2 * r + 1] * inverse);
        }
      }
      if ((lane & 3) == 0) {
        p.lse[static_cast<int64_t>(work.pair) * p.context + rows[r]] =
            (row_max[r] * p.scale_log2 + log2f(row_sum[r])) * kLn2;
      }
    }
  }
#else
  __trap();  // wgmma_available() keeps callers away
#endif
}

template <int kHeadDim>
void launch(ForwardParameters& p, cudaStream_t stream) {
  using Layout = ForwardLayout<kHeadDim>;
  const void* kernel = reinterpret_cast<const void*>(&wgmma_forward_kernel<kHeadDim>);
  const int resident = resident_blocks(kernel, kThreads, Layout::kSharedBytes);
  int device = 0;
  int cache_bytes = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  require(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  const int64_t pair_bytes = int64_t{4} * p.context * p.head_dim / p.group;
  const int limit = static_cast<int>(std::clamp<int64_t>(cache_bytes / 2 / pair_bytes, 1, p.pairs));
  const int chunks = (p.pairs + limit - 1) / limit;
  p.chunk = (p.pairs + chunks - 1) / chunks;
  const int grid = std::min(resident, p.query_blocks * p.chunk);
  p.chunk_rounds = (p.query_blocks * p.chunk + grid - 1) / grid;
  p.rounds = chunks * p.chunk_rounds;
  wgmma_forward_kernel<kHeadDim><<<static_cast<unsigned>(grid), kThreads, Layout::kSharedBytes, stream>>>(p);
  require(cudaGetLastError(), "Launching attention's forward");
}

}  // namespace

bool wgmma_available(const AttentionShape& shape) {
  const int padded = compiled_head_dim(shape.head_dim);
  if (padded != 64 && padded != 112 && padded != 128) return false;
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, wgmma_forward_kernel<112>) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.sharedSizeBytes > 0;  // the body for other architectures has no barriers
}

void forward_wgmma(const AttentionForwardCall& call, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  ForwardParameters p{};
  p.q = head_tensor_map(call.q.data, s, s.heads, call.q.row_stride, kBM);
  p.k = head_tensor_map(call.k.data, s, s.kv_heads, call.k.row_stride, kBN);
  p.v = head_tensor_map(call.v.data, s, s.kv_heads, call.v.row_stride, kBN);
  p.document_start = call.document_start;
  p.o = static_cast<__nv_bfloat16*>(call.o);
  p.lse = call.lse;
  p.context = static_cast<int>(s.context);
  p.heads = static_cast<int>(s.heads);
  p.group = static_cast<int>(s.heads / s.kv_heads);
  p.head_dim = static_cast<int>(s.head_dim);
  p.pairs = static_cast<int>(s.batch * s.heads);
  p.query_blocks = (p.context + kBM - 1) / kBM;
  p.scale_log2 = static_cast<float>(call.scale) * kLog2E;
  switch (compiled_head_dim(s.head_dim)) {
    case 64:
      return launch<64>(p, stream);
    case 112:
      return launch<112>(p, stream);
    default:
      return launch<128>(p, stream);
  }
}

}  // namespace lathe::attention
