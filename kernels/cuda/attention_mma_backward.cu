// BF16 attention backward on mma.sync (sm_80 and later), five matrix products a tile, deterministic.
//
// A thread block keeps BN keys and values and walks the BM-row query tiles that see them. Scores are computed
// transposed, S^T = K·Q^T, with 16 keys a warp: then P^T and dS^T already are the A operands of dV += P^T·dO
// and dK += dS^T·Q, in registers, and only dS crosses shared memory, for dQ = dS·K. dQ is summed over key
// blocks in global memory, in FP32, in the order of attention_order.cuh: the first contribution stores, the
// last one adds, scales and writes BF16, so nothing is zeroed and nothing converted afterwards. The heads of
// a group are walked inside the block, which makes dK and dV sums over the group without another pass.
#include "kernels/cuda/attention_mma_backward.cuh"

namespace lathe::attention {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

template <int kHeadDim>
__global__ void __launch_bounds__(BackwardTile<kHeadDim>::kThreads, 1)
    backward_kernel(const __grid_constant__ BackwardParameters p) {
  using Shape = BackwardTile<kHeadDim>;
  constexpr int kBM = Shape::kQueries;
  constexpr int kBN = Shape::kKeys;
  constexpr int kPart = Shape::kPart;
  constexpr int kSteps = kHeadDim / 16;
  constexpr int kThreads = Shape::kThreads;
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t k_tile = shared_address(shared);
  const uint32_t v_tile = k_tile + Shape::kValues;  // if values stay in shared memory
  const uint32_t stages = k_tile + Shape::kStages;
  const uint32_t do_tile = k_tile + Shape::kGradients;
  uint8_t* const ds_data = shared + Shape::kScores;
  const uint32_t ds_tile = k_tile + Shape::kScores;
  int* const turn_data = reinterpret_cast<int*>(shared + Shape::kTurn);

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int key_group = warp % (kBN / 16);
  const int column_group = warp / (kBN / 16);

  // Blocks take work in the order they start, which is what makes waiting for a pair's other slots safe.
  if (threadIdx.x == 0) turn_data[0] = static_cast<int>(atomicAdd(p.workspace.ticket, 1u));
  __syncthreads();
  const int ticket = turn_data[0];
  __syncthreads();
  const int slot = ticket % p.order.slots;
  const int pair = ticket / p.order.slots;
  const int batch = pair / p.kv_heads;
  const int kv_head = pair % p.kv_heads;
  const int64_t batch_row = static_cast<int64_t>(batch) * p.context;
  const int64_t head_row =
      static_cast<int64_t>(batch) * p.heads + kv_head * p.order.group;  // first of the group
  const __nv_bfloat16* q = p.q + batch_row * p.q_stride + kv_head * p.order.group * p.head_dim;
  const __nv_bfloat16* d_o = p.d_o + (batch_row * p.heads + kv_head * p.order.group) * p.head_dim;
  const __nv_bfloat16* k = p.k + batch_row * p.k_stride + kv_head * p.head_dim;
  const __nv_bfloat16* v = p.v + batch_row * p.v_stride + kv_head * p.head_dim;
  const int32_t* first_block =
      p.document_start == nullptr ? nullptr : p.workspace.first_block + batch * p.order.tiles;
  const int64_t counters = p.workspace.padded_context / kSmallestTile;

  auto load_queries = [&](int stage, int head, int tile) {
    load_tile<kBM, kHeadDim, kThreads>(stages + static_cast<uint32_t>(stage * Shape::kQueryBytes),
                                       q + head * p.head_dim, p.q_stride, tile * kBM, p.context, p.head_dim);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < kBM) {
      const uint32_t at = k_tile + static_cast<uint32_t>(Shape::kStatistics +
                                                         stage * 3 * Shape::kStatisticBytes + thread * 4);
      const int64_t row = (head_row + head) * p.workspace.padded_context + tile * kBM + thread;
      copy_async_4(at, p.workspace.lse_log2 + row, true);
      copy_async_4(at + Shape::kStatisticBytes, p.workspace.delta + row, true);
      if (p.document_start != nullptr) {
        const int t = min(tile * kBM + thread, p.context - 1);
        copy_async_4(at + 2 * Shape::kStatisticBytes, p.document_start + batch_row + t, true);
      }
    }
    commit_copies();
  };
  auto load_gradients = [&](int head, int tile) {
    load_tile<kBM, kHeadDim, kThreads>(do_tile, d_o + head * p.head_dim,
                                       static_cast<int64_t>(p.heads) * p.head_dim, tile * kBM, p.context,
                                       p.head_dim);
    commit_copies();
  };

  for (int wave = 0; wave < p.order.waves(); ++wave) {
    const int block = p.order.block(slot, wave);
    if (block >= p.order.blocks) break;
    const int first_key_row = block * kBN;
    const int warp_key = first_key_row + key_group * 16;
    const int keys[2] = {warp_key + lane / 4, warp_key + lane / 4 + 8};

    load_tile<kBN, kHeadDim, kThreads>(k_tile, k, p.k_stride, first_key_row, p.context, p.head_dim);
    uint32_t v_fragments[Shape::kValuesInRegisters ? kSteps : 1][4];
    if constexpr (Shape::kValuesInRegisters) {
      load_tile<kBN, kHeadDim, kThreads>(stages, v, p.v_stride, first_key_row, p.context, p.head_dim);
      commit_copies();
      wait_copies();
      __syncthreads();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        load_a<kHeadDim>(v_fragments[step], stages, key_group * 16, step * 2, lane);
      }
      __syncthreads();
    } else {
      load_tile<kBN, kHeadDim, kThreads>(v_tile, v, p.v_stride, first_key_row, p.context, p.head_dim);
    }

    float dk[Shape::kColumns / 8][4] = {};
    float dv[Shape::kColumns / 8][4] = {};
    TileWalk walk(p.order, first_block, block, AttentionOrder::upwards(wave));
    if (!walk.done()) {
      load_queries(0, walk.head, walk.tile);
      load_gradients(walk.head, walk.tile);
    }
    uint32_t* counter = nullptr;  // of the tile in work, and of the one before it
    uint32_t* last_counter = nullptr;
    for (int stage = 0; !walk.done(); stage ^= 1) {
      const int head = walk.head;
      const int tile = walk.tile;
      wait_copies();
      __syncthreads();  // the tile has landed; everybody is done with the other stage, dS, and the last
                        // tile's dQ
      last_counter = counter;
      counter = p.workspace.turn + (head_row + head) * counters + tile;
      if (warp == 0) {
        const int last_key = min(tile * kBM + kBM, p.context) - 1;
        const Turn turn = find_turn(p.order, block, head, tile, walk.first_seen(), last_key / kBN, lane);
        if (lane == 0) {
          turn_data[0] = turn.rank;
          turn_data[1] = turn.count;
        }
      }
      walk.advance();
      if (!walk.done()) load_queries(stage ^ 1, walk.head, walk.tile);

      const uint32_t q_tile = stages + static_cast<uint32_t>(stage * Shape::kQueryBytes);
      const float* lse =
          reinterpret_cast<const float*>(shared + Shape::kStatistics + stage * 3 * Shape::kStatisticBytes);
      const float* delta = lse + kBM;
      const int* starts = reinterpret_cast<const int*>(delta + kBM);
      const int tile_query = tile * kBM;

      uint32_t ds_operand[kBM / 16][4];
#pragma unroll
      for (int part = 0; part < kBM; part += kPart) {
        if (warp_key > tile_query + part + kPart - 1)
          continue;                    // no query of the part sees a key of this warp
        float p_t[kPart / 8][4] = {};  // S^T, then P^T, then dS^T: rows keys, columns queries
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          uint32_t a[4];
          load_a<kHeadDim>(a, k_tile, key_group * 16, step * 2, lane);
#pragma unroll
          for (int n = 0; n < kPart / 16; ++n) {
            uint32_t b[4];
            load_b<kHeadDim>(b, q_tile, part + n * 16, step * 2, lane);
            multiply_add(p_t[2 * n], a, b[0], b[1]);
            multiply_add(p_t[2 * n + 1], a, b[2], b[3]);
          }
        }
        float dp[kPart / 8][4] = {};
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          uint32_t a[4];
          if constexpr (!Shape::kValuesInRegisters)
            load_a<kHeadDim>(a, v_tile, key_group * 16, step * 2, lane);
#pragma unroll
          for (int n = 0; n < kPart / 16; ++n) {
            uint32_t b[4];
            load_b<kHeadDim>(b, do_tile, part + n * 16, step * 2, lane);
            if constexpr (Shape::kValuesInRegisters) {
              multiply_add(dp[2 * n], v_fragments[step], b[0], b[1]);
              multiply_add(dp[2 * n + 1], v_fragments[step], b[2], b[3]);
            } else {
              multiply_add(dp[2 * n], a, b[0], b[1]);
              multiply_add(dp[2 * n + 1], a, b[2], b[3]);
            }
          }
        }

        const bool masked = warp_key + 15 > tile_query + part || p.document_start != nullptr;
#pragma unroll
        for (int n = 0; n < kPart / 8; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int column = part + n * 8 + (lane & 3) * 2 + (i & 1);
            float probability = exp2_fast(fmaf(p_t[n][i], p.scale_log2, -lse[column]));
            if (masked) {
              const int query = tile_query + column;
              const int start = p.document_start == nullptr ? 0 : min(starts[column], query);
              if (keys[i / 2] > query || keys[i / 2] < start) probability = 0.f;
            }
            p_t[n][i] = probability;
          }
        }
        uint32_t p_operand[kPart / 16][4];
#pragma unroll
        for (int n = 0; n < kPart / 16; ++n) round_to_a(p_operand[n], p_t[2 * n], p_t[2 * n + 1]);
#pragma unroll
        for (int n = 0; n < kPart / 8; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            p_t[n][i] *= dp[n][i] - delta[part + n * 8 + (lane & 3) * 2 + (i & 1)];
          }
        }
#pragma unroll
        for (int n = 0; n < kPart / 16; ++n) {
          round_to_a(ds_operand[part / 16 + n], p_t[2 * n], p_t[2 * n + 1]);
          if (column_group != 0) continue;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int row = key_group * 16 + lane / 4 + (i & 1) * 8;
            *reinterpret_cast<uint32_t*>(ds_data + Tile<kBM>::offset(row, part / 8 + n * 2 + i / 2) +
                                         (lane & 3) * 4) = ds_operand[part / 16 + n][i];
          }
        }
#pragma unroll
        for (int n = 0; n < kPart / 16; ++n) {
          add_product<kHeadDim>(dv, p_operand[n], do_tile, part + n * 16,
                                column_group * (Shape::kColumns / 8), lane);
        }
      }
      // The last contribution has long reached L2, so that passing it on costs no wait here.
      if (threadIdx.x == kThreads - 1 && last_counter != nullptr) pass_turn(last_counter);
      __syncthreads();  // dS and the turn are complete, dO is used up
      const Turn mine{turn_data[0], turn_data[1]};
      const uint32_t seen = peek_turn(counter);

      if (!walk.done()) load_gradients(walk.head, walk.tile);
#pragma unroll
      for (int n = 0; n < kBM / 16; ++n) {
        if (warp_key > tile_query + n * 16 / kPart * kPart + kPart - 1) continue;
        add_product<kHeadDim>(dk, ds_operand[n], q_tile, n * 16, column_group * (Shape::kColumns / 8), lane);
      }

      // dQ = dS·K: this warp's 16 rows and kDqTiles column tiles, over the keys the tile sees.
      const int row_group = warp % Shape::kRowGroups;
      const int first_column_tile = warp / Shape::kRowGroups * Shape::kDqTiles;
      float dq[Shape::kDqTiles][4] = {};
#pragma unroll
      for (int step = 0; step < kBN / 16; ++step) {
        if (first_key_row + step * 16 > tile_query + row_group * 16 + 15) break;
        uint32_t a[4];
        load_a_transposed<kBM>(a, ds_tile, step * 16, row_group * 2, lane);
#pragma unroll
        for (int d = 0; d + 1 < Shape::kDqTiles; d += 2) {
          uint32_t b[4];
          load_b_transposed<kHeadDim>(b, k_tile, step * 16, first_column_tile + d, lane);
          multiply_add(dq[d], a, b[0], b[1]);
          multiply_add(dq[d + 1], a, b[2], b[3]);
        }
        if constexpr (Shape::kDqTiles % 2 != 0) {
          constexpr int kLast = Shape::kDqTiles - 1;
          uint32_t b[2];
          load_b_half_transposed<kHeadDim>(b, k_tile, step * 16, first_column_tile + kLast, lane);
          multiply_add(dq[kLast], a, b[0], b[1]);
        }
      }
      finish_turn(counter, mine.rank, seen);
      contribute_dq<kHeadDim>(p, dq, mine, batch, kv_head * p.order.group + head, tile, row_group,
                              first_column_tile, lane);
    }
    __syncthreads();  // the last dQ contribution is issued, K and the stages are free
    if (threadIdx.x == kThreads - 1 && counter != nullptr) pass_turn(counter);

    store_dk_dv<kHeadDim>(p, dk, dv, batch, kv_head, keys, column_group, lane);
  }
}

template <int kHeadDim>
void launch(const AttentionBackwardCall& call, BackwardParameters& p, cudaStream_t stream) {
  using Shape = BackwardTile<kHeadDim>;
  const void* kernel = reinterpret_cast<const void*>(&backward_kernel<kHeadDim>);
  const int resident = resident_blocks(kernel, Shape::kThreads, Shape::kSharedBytes);
  const int pairs = static_cast<int>(call.shape.batch) * p.kv_heads;
  p.order.tiles = (p.context + Shape::kQueries - 1) / Shape::kQueries;
  p.order.blocks = (p.context + Shape::kKeys - 1) / Shape::kKeys;
  p.order.tiles_per_block = Shape::kKeys / Shape::kQueries;
  p.order.group = p.heads / p.kv_heads;
  p.order = fastest_order(p.order, pairs, resident);
  launch_row_statistics(call, p.workspace, Shape::kQueries, Shape::kKeys, stream);
  backward_kernel<kHeadDim>
      <<<static_cast<unsigned>(pairs * p.order.slots), Shape::kThreads, Shape::kSharedBytes, stream>>>(p);
  require(cudaGetLastError(), "Launching attention's backward");
}

}  // namespace

void backward_mma(const AttentionBackwardCall& call, cudaStream_t stream) {
  const AttentionShape& s = call.shape;
  BackwardParameters p{};
  p.q = static_cast<const __nv_bfloat16*>(call.q.data);
  p.k = static_cast<const __nv_bfloat16*>(call.k.data);
  p.v = static_cast<const __nv_bfloat16*>(call.v.data);
  p.d_o = static_cast<const __nv_bfloat16*>(call.d_o);
  p.dq = static_cast<__nv_bfloat16*>(call.dq.data);
  p.dk = static_cast<__nv_bfloat16*>(call.dk.data);
  p.dv = static_cast<__nv_bfloat16*>(call.dv.data);
  p.q_stride = call.q.row_stride;
  p.k_stride = call.k.row_stride;
  p.v_stride = call.v.row_stride;
  p.dq_stride = call.dq.row_stride;
  p.dk_stride = call.dk.row_stride;
  p.dv_stride = call.dv.row_stride;
  p.document_start = call.document_start;
  p.workspace = cut_workspace(s, call.dtype, call.workspace);
  p.context = static_cast<int>(s.context);
  p.heads = static_cast<int>(s.heads);
  p.kv_heads = static_cast<int>(s.kv_heads);
  p.head_dim = static_cast<int>(s.head_dim);
  p.scale = static_cast<float>(call.scale);
  p.scale_log2 = p.scale * kLog2E;
  switch (compiled_head_dim(s.head_dim)) {
    case 32:
      return launch<32>(call, p, stream);
    case 64:
      return launch<64>(call, p, stream);
    case 80:
      return launch<80>(call, p, stream);
    case 96:
      return launch<96>(call, p, stream);
    case 112:
      return launch<112>(call, p, stream);
    case 128:
      return launch<128>(call, p, stream);
    case 192:
      return launch<192>(call, p, stream);
    default:
      return launch<256>(call, p, stream);
  }
}

}  // namespace lathe::attention
