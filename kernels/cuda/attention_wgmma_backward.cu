// BF16 attention backward for Hopper (sm_90a), deterministic. The mathematics and the walk are those of
// attention_mma_backward.cu: 128 keys a thread block, 64-row query tiles, transposed scores, dQ summed in
// global memory in AttentionOrder's order. Here a loader thread feeds the inputs; two consumer warpgroups own
// 64 keys each, S^T, dP^T, dV and dK from their own, dQ from all keys and some columns each; two turn warps,
// one a dQ buffer, await the block's turn at a dq tile, send the tile out and pass the turn on. A consumer
// keeps the tensor cores busy while it does anything else: the next scores are issued before dQ is written
// out, dP runs under the exponentials, dV under dS.
//
// What is handed over, and what orders it there; and back. No phase of an mbarrier ends before all who need
// the one before have seen that.
//
//   k, v               loader > consumers       kv_full; products_wait, kv_empty
//   q, lse, first key  loader > consumers       q_full; products_wait, the loads' use, empty
//   dO, delta          loader > consumers       do_full; with q
//   dS, two buffers    consumer > both          publish_shared, barrier 1; products_wait, the next barrier 1
//   last, only         turn warp > consumers    turn_known; dq_full
//   dQ                 consumers > copy engine  publish_shared, dq_full; stores_wait_read, dq_free
//   dq in global       block > next block       stores_wait, pass_turn, await_turn, follow_acquired
//                      block > last consumers   stores_wait, pass_turn, await_turn, turn_ready
//
// No circle of waits: the first unfinished contribution in AttentionOrder has its turn, its block's earlier
// ones are done, and nothing else holds up its loads and buffers. A pair's blocks are resident together.
#include "kernels/cuda/attention_tensor_map.h"
#include "kernels/cuda/attention_wgmma_backward.cuh"

namespace lathe::attention {
namespace {

using namespace wgmma_backward;
namespace hw = hopper;

constexpr float kLog2E = 1.4426950408889634f;

// 16 rows × 16 columns of BF16 accumulator pairs into a swizzled panel.
__device__ __forceinline__ void store_matrices(uint32_t panel, int row, int chunk, const uint32_t (&r)[4],
                                               int lane) {
  const uint32_t address = panel + Tile<hw::kPanelColumns>::offset(row + (lane & 15), chunk + (lane >> 4));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

template <int kHeadDim, int kConsumer>
__device__ __forceinline__ void consume_loop(const BackwardParameters& p, BackwardShared& sync,
                                             const SharedTiles& tiles, const BackwardWork& work) {
  using Layout = BackwardLayout<kHeadDim>;
  // This warpgroup's columns of dQ: 64 and the rest, or half and half.
  constexpr int kSplit = kHeadDim > 64 ? 64 : kHeadDim / 2;
  constexpr int kDqColumns = kConsumer == 0 ? kSplit : kHeadDim - kSplit;
  constexpr int kFirstColumn = kConsumer == 0 ? 0 : kSplit;
  constexpr int kDqOffset = kFirstColumn == 64 ? kBN * hw::kPanelRowBytes : kFirstColumn * 2;
  // Head dim 128 has no registers left to hold the next scores beside dQ.
  constexpr bool kScoresAhead = kHeadDim <= 112;
  const int thread = static_cast<int>(threadIdx.x) & 127;
  const int lane = thread & 31;
  const int warp = thread >> 5;
  const auto at = [](uint64_t& barrier) { return shared_address(&barrier); };
  const auto release = [&](uint64_t& barrier) {
    __syncwarp();
    if (lane < kArrivingLanes) hw::barrier_arrive(at(barrier));
  };
  const int64_t batch_row = static_cast<int64_t>(work.batch) * p.context;
  const uint32_t my_k = tiles.k + kConsumer * 64 * hw::kPanelRowBytes;
  const uint32_t my_v = tiles.v + kConsumer * 64 * hw::kPanelRowBytes;

  float scores[kBM / 2];
  const auto query_tile = [&](int number) {
    return tiles.q + static_cast<uint32_t>(number % kStages * Layout::kQueryBytes);
  };
  const auto issue_scores = [&](uint32_t q_tile) {
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      hw::Product<kBM>::template shared<false, false>(scores, hw::along_columns<kBN>(my_k, step),
                                                      hw::along_columns<kBM>(q_tile, step), step > 0);
    }
    hw::products_commit();
  };

  const uint32_t dq_offset =
      static_cast<uint32_t>((kFirstColumn * kBM + thread * 4) * 4);  // bytes in a dq tile

  int count = 0;
  for (int wave = 0; wave < p.order.waves(); ++wave) {
    const int block = p.order.block(work.slot, wave);
    if (block >= p.order.blocks) break;
    const int first_key_row = block * kBN + kConsumer * 64;
    const int keys[2] = {first_key_row + warp * 16 + lane / 4, first_key_row + warp * 16 + lane / 4 + 8};
    float dk[kHeadDim / 2] = {};
    float dv[kHeadDim / 2] = {};
    TileWalk walk(p.order, work.first_block, block, AttentionOrder::upwards(wave));
    hw::barrier_wait(at(sync.kv_full), wave & 1);
    hw::barrier_wait(at(sync.q_full[count % kStages]), count / kStages & 1);
    hw::settle(dk);
    hw::settle(dv);
    hw::products_begin();
    issue_scores(query_tile(count));
    hw::products_wait<0>();
    hw::settle(scores);
    while (!walk.done()) {
      const int stage = count % kStages;
      const uint32_t parity = count / kStages & 1;
      const uint32_t q_tile = query_tile(count);
      const uint32_t do_tile = tiles.d_o + static_cast<uint32_t>(stage * Layout::kQueryBytes);
      const uint32_t ds_tile = tiles.ds + static_cast<uint32_t>((count & 1) * Layout::kScoreBytes);
      const uint32_t statistics = static_cast<uint32_t>(stage * Layout::kStatisticBytes + (lane & 3) * 8);
      const int tile_query = walk.tile * kBM;
      const int head = walk.head;

      hw::barrier_wait(at(sync.do_full[stage]), parity);
      float dp[kBM / 2];
      hw::products_begin();
#pragma unroll
      for (int step = 0; step < kHeadDim / 16; ++step) {
        hw::Product<kBM>::template shared<false, false>(dp, hw::along_columns<kBN>(my_v, step),
                                                        hw::along_columns<kBM>(do_tile, step), step > 0);
      }
      hw::products_commit();

      const auto pair_at = [](uint32_t address) {
        float2 value;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                     : "=f"(value.x), "=f"(value.y)
                     : "r"(address)
                     : "memory");
        return value;
      };
#pragma unroll
      for (int n = 0; n < kBM / 8; ++n) {
        const float2 lse = pair_at(tiles.lse + statistics + static_cast<uint32_t>(n * 32));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[4 * n + i] =
              exp2_fast(fmaf(scores[4 * n + i], p.scale_log2, (i & 1) != 0 ? -lse.y : -lse.x));
        }
      }
      if (first_key_row + 63 > tile_query || p.documents) {
#pragma unroll
        for (int n = 0; n < kBM / 8; ++n) {
          float2 starts = make_float2(0.f, 0.f);
          if (p.documents) starts = pair_at(tiles.first_key + statistics + static_cast<uint32_t>(n * 32));
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int query = tile_query + n * 8 + (lane & 3) * 2 + (i & 1);
            const int start = __float_as_int((i & 1) != 0 ? starts.y : starts.x);
            if (keys[i / 2] > query || keys[i / 2] < start) scores[4 * n + i] = 0.f;
          }
        }
      }
      uint32_t operand[kBM / 16][4];
#pragma unroll
      for (int i = 0; i < kBM / 4; ++i) operand[i / 4][i % 4] = pack_bf16(scores[2 * i], scores[2 * i + 1]);
      hw::products_begin();
#pragma unroll
      for (int step = 0; step < kBM / 16; ++step) {
        hw::Product<kHeadDim>::template registers<true>(dv, operand[step], hw::along_rows<kBM>(do_tile, step),
                                                        1);
      }
      hw::products_commit();
      hw::products_wait<1>();
      hw::settle(dp);

      uint32_t ds_operand[kBM / 16][4];
#pragma unroll
      for (int n = 0; n < kBM / 8; ++n) {
        const float2 delta = pair_at(tiles.delta + statistics + static_cast<uint32_t>(n * 32));
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          ds_operand[n / 2][n % 2 * 2 + r] =
              pack_bf16(scores[4 * n + 2 * r] * (dp[4 * n + 2 * r] - delta.x),
                        scores[4 * n + 2 * r + 1] * (dp[4 * n + 2 * r + 1] - delta.y));
        }
      }
#pragma unroll
      for (int step = 0; step < kBM / 16; ++step) {
        store_matrices(ds_tile, kConsumer * 64 + warp * 16, step * 2, ds_operand[step], lane);
      }
      hw::publish_shared();
      hw::products_begin();
#pragma unroll
      for (int step = 0; step < kBM / 16; ++step) {
        hw::Product<kHeadDim>::template registers<true>(dk, ds_operand[step],
                                                        hw::along_rows<kBM>(q_tile, step), 1);
      }
      hw::products_commit();
      hw::named_sync(1, kConsumerThreads);  // both halves of dS are there

      float dq[kDqColumns / 2];
      hw::products_begin();
#pragma unroll
      for (int step = 0; step < kBN / 16; ++step) {
        hw::Product<kDqColumns>::template shared<true, true>(
            dq, hw::along_rows<kBN>(ds_tile, step), hw::along_rows<kBN>(tiles.k + kDqOffset, step), step > 0);
      }
      hw::products_commit();
      walk.advance();
      ++count;
      // After a wave's last tile these scores are unused: a branch would keep the compiler from leaving
      // products in flight. They read keys then, as the stages are the loader's again.
      const auto issue_next = [&] {
        if (!walk.done()) hw::barrier_wait(at(sync.q_full[count % kStages]), count / kStages & 1);
        hw::products_begin();
        issue_scores(walk.done() ? tiles.k : query_tile(count));
      };
      if constexpr (kScoresAhead) {
        issue_next();
        hw::products_wait<1>();
      } else {
        hw::products_wait<0>();
      }
      hw::settle(dq);
      hw::settle(dk);
      hw::settle(dv);
      release(sync.empty[stage]);

      const int done = count - 1;  // the tile's number
      const int buffer = done & 1;
      const uint32_t use = static_cast<uint32_t>(done / 2 & 1);
      hw::barrier_wait(at(sync.turn_known[buffer]), use);
      if (!sync.last[buffer]) {
        hw::barrier_wait(at(sync.dq_free[buffer]), use ^ 1);
        const uint32_t target = tiles.dq + static_cast<uint32_t>(buffer * Layout::kDqBytes) + dq_offset;
#pragma unroll
        for (int i = 0; i < kDqColumns / 8; ++i) {
          asm volatile(
              "st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(target + static_cast<uint32_t>(i * 2048)),
              "f"(dq[4 * i]), "f"(dq[4 * i + 1]), "f"(dq[4 * i + 2]), "f"(dq[4 * i + 3])
              : "memory");
        }
        hw::publish_shared();
      } else {
        hw::barrier_wait(at(sync.turn_ready[buffer]), use);
        const float* const sums =
            p.workspace.dq + ((work.head_row + head) * p.workspace.padded_context + tile_query) * kHeadDim +
            dq_offset / 4;
        if (!sync.only[buffer]) {
#pragma unroll
          for (int i = 0; i < kDqColumns / 8; ++i) {
            const float4 sum = __ldcg(reinterpret_cast<const float4*>(sums + i * 512));
            dq[4 * i] += sum.x;
            dq[4 * i + 1] += sum.y;
            dq[4 * i + 2] += sum.z;
            dq[4 * i + 3] += sum.w;
          }
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int row = tile_query + warp * 16 + lane / 4 + r * 8;
          if (row >= p.context) continue;
          __nv_bfloat16* const out = p.dq + (batch_row + row) * p.dq_stride +
                                     (work.kv_head * p.order.group + head) * p.head_dim + (lane & 3) * 2;
#pragma unroll
          for (int i = 0; i < kDqColumns / 8; ++i) {
            if (kFirstColumn + i * 8 < p.head_dim) {
              *reinterpret_cast<uint32_t*>(out + kFirstColumn + i * 8) =
                  pack_bf16(dq[4 * i + 2 * r] * p.scale, dq[4 * i + 2 * r + 1] * p.scale);
            }
          }
        }
      }
      release(sync.dq_full[buffer]);
      if constexpr (!kScoresAhead) issue_next();
      hw::products_wait<0>();
      hw::settle(scores);
    }
    release(sync.kv_empty);

#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (keys[r] >= p.context) continue;
      const int column = work.kv_head * p.head_dim + (lane & 3) * 2;
      __nv_bfloat16* const dk_row = p.dk + (batch_row + keys[r]) * p.dk_stride + column;
      __nv_bfloat16* const dv_row = p.dv + (batch_row + keys[r]) * p.dv_stride + column;
#pragma unroll
      for (int d = 0; d < kHeadDim / 8; ++d) {
        if (d * 8 < p.head_dim) {
          *reinterpret_cast<uint32_t*>(dk_row + d * 8) =
              pack_bf16(dk[4 * d + 2 * r] * p.scale, dk[4 * d + 2 * r + 1] * p.scale);
          *reinterpret_cast<uint32_t*>(dv_row + d * 8) = pack_bf16(dv[4 * d + 2 * r], dv[4 * d + 2 * r + 1]);
        }
      }
    }
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    wgmma_backward_kernel([[maybe_unused]] const __grid_constant__ BackwardParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Layout = BackwardLayout<kHeadDim>;
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ BackwardShared sync;
  SharedTiles tiles;
  tiles.k = (shared_address(shared) + Layout::kAlignment - 1) & ~(Layout::kAlignment - 1u);
  tiles.v = tiles.k + Layout::kKeyBytes;
  tiles.q = tiles.v + Layout::kKeyBytes;
  tiles.d_o = tiles.q + kStages * Layout::kQueryBytes;
  tiles.ds = tiles.d_o + kStages * Layout::kQueryBytes;
  tiles.dq = tiles.ds + 2 * Layout::kScoreBytes;
  tiles.lse = tiles.dq + 2 * Layout::kDqBytes;
  tiles.delta = tiles.lse + kStages * Layout::kStatisticBytes;
  tiles.first_key = tiles.delta + kStages * Layout::kStatisticBytes;
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);

  if (threadIdx.x == 0) {
    const auto init = [](uint64_t& barrier, int arrivals) {
      hw::barrier_init(shared_address(&barrier), arrivals);
    };
    init(sync.kv_full, 1);
    init(sync.kv_empty, kConsumerArrivals);
    for (int s = 0; s < kStages; ++s) {
      init(sync.q_full[s], 1);
      init(sync.do_full[s], 1);
      init(sync.empty[s], kConsumerArrivals);
    }
    for (int b = 0; b < 2; ++b) {
      init(sync.turn_known[b], 1);
      init(sync.turn_ready[b], 1);
      init(sync.dq_full[b], kConsumerArrivals);
      init(sync.dq_free[b], 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    hw::publish_shared();
    // Blocks take work in the order they start, which is what makes waiting for a pair's other slots safe.
    sync.ticket = static_cast<int>(atomicAdd(p.workspace.ticket, 1u));
  }
  __syncthreads();
  const BackwardWork work(p, sync.ticket);

  if (warp < 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (warp == 0) {
      if (threadIdx.x == 0) load_loop<kHeadDim>(p, sync, tiles, work);
    } else if (warp < 3) {
      add_loop<kHeadDim>(p, sync, tiles, work, warp - 1, static_cast<int>(threadIdx.x) & 31);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    if (warp < 8) {
      consume_loop<kHeadDim, 0>(p, sync, tiles, work);
    } else {
      consume_loop<kHeadDim, 1>(p, sync, tiles, work);
    }
  }
#else
  __trap();  // wgmma_available() keeps callers away
#endif
}

template <int kHeadDim>
void launch(const AttentionBackwardCall& call, BackwardParameters& p, cudaStream_t stream) {
  using Layout = BackwardLayout<kHeadDim>;
  const void* kernel = reinterpret_cast<const void*>(&wgmma_backward_kernel<kHeadDim>);
  const int resident = resident_blocks(kernel, kThreads, Layout::kSharedBytes);
  const int pairs = static_cast<int>(call.shape.batch) * p.kv_heads;
  p.order.tiles = (p.context + kBM - 1) / kBM;
  p.order.blocks = (p.context + kBN - 1) / kBN;
  p.order.tiles_per_block = kBN / kBM;
  p.order.group = p.heads / p.kv_heads;
  p.order = fastest_order(p.order, pairs, resident);
  launch_row_statistics(call, p.workspace, kBM, kBN, stream);
  wgmma_backward_kernel<kHeadDim>
      <<<static_cast<unsigned>(pairs * p.order.slots), kThreads, Layout::kSharedBytes, stream>>>(p);
  require(cudaGetLastError(), "Launching attention's backward");
}

}  // namespace

void backward_wgmma(const AttentionBackwardCall& call, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  BackwardParameters p{};
  p.q = head_tensor_map(call.q.data, s, s.heads, call.q.row_stride, kBM);
  p.k = head_tensor_map(call.k.data, s, s.kv_heads, call.k.row_stride, kBN);
  p.v = head_tensor_map(call.v.data, s, s.kv_heads, call.v.row_stride, kBN);
  p.d_o = head_tensor_map(call.d_o, s, s.heads, s.heads * s.head_dim, kBM);
  p.dq = static_cast<__nv_bfloat16*>(call.dq.data);
  p.dk = static_cast<__nv_bfloat16*>(call.dk.data);
  p.dv = static_cast<__nv_bfloat16*>(call.dv.data);
  p.dq_stride = call.dq.row_stride;
  p.dk_stride = call.dk.row_stride;
  p.dv_stride = call.dv.row_stride;
  p.workspace = cut_workspace(s, call.dtype, call.workspace);
  p.context = static_cast<int>(s.context);
  p.heads = static_cast<int>(s.heads);
  p.kv_heads = static_cast<int>(s.kv_heads);
  p.head_dim = static_cast<int>(s.head_dim);
  p.scale = static_cast<float>(call.scale);
  p.scale_log2 = p.scale * kLog2E;
  p.documents = call.document_start != nullptr;
  switch (compiled_head_dim(s.head_dim)) {
    case 64:
      return launch<64>(call, p, stream);
    case 112:
      return launch<112>(call, p, stream);
    default:
      return launch<128>(call, p, stream);
  }
}

}  // namespace lathe::attention
