// AdamW over one parameter group in one launch: clip, moments, decay, parameter, requantise.
//
// A warp owns a block of 256 elements, a lane 8 of them: all loads are in flight together, and the scale of
// an 8-bit block is a maximum over the warp. The arithmetic is kernels/api/numerics.h's. ClipFactor's Skip
// leaves everything untouched, bit for bit.
#include <algorithm>

#include "kernels/api/numerics.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/quantise.cuh"

namespace lathe::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kPerLane = 8;
static_assert(kPerLane * 32 == kStateBlock);

__device__ QuantiseTable
    quantise_tables[2];  // signed (m), unsigned (v); copied to shared memory by each block

struct Call {
  int64_t blocks;  // of 256 elements
  float beta1, beta2, eps, lr_factor, weight_decay;
  uint32_t group;
};

// How the master of a BF16 weight is kept.
enum class Master { None, Whole, Split };

struct Pointers {
  const void* gradient;
  void *weight, *master, *m, *v;
  float *m_scale, *v_scale;
  const float *scalars, *clip;
};

// Moments at rest, widened to FP32 in registers. U8 codes carry one scale a block.
template <class S>
struct States {
  __device__ static void load(const void* p, const float*, const QuantiseTable&, int64_t, int64_t at,
                              float (&x)[kPerLane]) {
    load_wide<kPerLane>(static_cast<const S*>(p) + at, x);
  }
  template <bool SIGNED>
  __device__ static void store(void* p, float*, const QuantiseTable&, int64_t, int64_t at,
                               const float (&x)[kPerLane]) {
    store_vec(static_cast<S*>(p) + at, narrow<S>(x));
  }
};
template <>
struct States<uint8_t> {
  __device__ static void load(const void* p, const float* scales, const QuantiseTable& table, int64_t block,
                              int64_t at, float (&x)[kPerLane]) {
    const Vec<uint8_t, kPerLane> codes = load_vec<kPerLane>(static_cast<const uint8_t*>(p) + at);
    const float scale = scales[block];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) x[i] = table.values[codes.v[i]] * scale;
  }
  template <bool SIGNED>
  __device__ static void store(void* p, float* scales, const QuantiseTable& table, int64_t block, int64_t at,
                               const float (&x)[kPerLane]) {
    float scale = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) scale = fmaxf(scale, fabsf(x[i]));
    scale = warp_max(scale);
    // A reciprocal instead of divisions moves a value by an ulp at most; a scale too small to have one
    // divides.
    const bool has_inverse = scale >= 1.2e-38f;
    const float inverse = has_inverse ? 1.0f / scale : 0.0f;
    Vec<uint8_t, kPerLane> codes;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      float normalised = x[i] * inverse;
      if (!has_inverse && scale > 0.0f) normalised = x[i] / scale;
      codes.v[i] =
          static_cast<uint8_t>(SIGNED ? signed_code(table, normalised) : unsigned_code(table, normalised));
    }
    store_vec(static_cast<uint8_t*>(p) + at, codes);
    if ((threadIdx.x & 31) == 0) scales[block] = scale;
  }
};

template <class G, class W, Master MASTER, class S>
__global__ void __launch_bounds__(kThreads, 4) adamw_kernel(Pointers p, Call c) {
  await_predecessor();
  constexpr bool kCodes = sizeof(S) == 1;
  __shared__ QuantiseTable tables[kCodes ? 2 : 1];
  if (p.clip[static_cast<int>(ClipResult::Skip)] != 0.0f) return;
  if constexpr (kCodes) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(quantise_tables);
    uint32_t* to = reinterpret_cast<uint32_t*>(tables);
    for (int i = threadIdx.x; i < static_cast<int>(sizeof(tables) / 4); i += kThreads) to[i] = from[i];
    __syncthreads();
  }
  const auto scalar = [&](StepScalar s) { return p.scalars[static_cast<int>(s)]; };
  const float lr = scalar(StepScalar::LearningRate) * c.lr_factor;
  AdamWStep<float> step;
  step.beta1 = c.beta1;
  step.beta2 = c.beta2;
  step.one_minus_beta1 = 1.0f - c.beta1;
  step.one_minus_beta2 = 1.0f - c.beta2;
  step.keep = 1.0f - lr * c.weight_decay;
  step.step_size = lr / scalar(StepScalar::BiasCorrection1);
  step.inv_sqrt_bias = 1.0f / sqrtf(scalar(StepScalar::BiasCorrection2));
  step.eps = c.eps;
  const float factor = p.clip[static_cast<int>(ClipResult::Factor)];
  const uint32_t seed_low = static_cast<uint32_t>(scalar(StepScalar::RandomLow));
  const uint32_t seed_high = static_cast<uint32_t>(scalar(StepScalar::RandomHigh));

  const int lane = threadIdx.x & 31;
  constexpr int kWarps = kThreads / 32;
  for (int64_t block = static_cast<int64_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5); block < c.blocks;
       block += static_cast<int64_t>(gridDim.x) * kWarps) {
    const int64_t at = block * kStateBlock + lane * kPerLane;
    float gradient[kPerLane], parameter[kPerLane], m[kPerLane], v[kPerLane];
    load_wide<kPerLane>(static_cast<const G*>(p.gradient) + at, gradient);
    W* weight = static_cast<W*>(p.weight) + at;
    if constexpr (MASTER == Master::Whole) {
      load_wide<kPerLane>(static_cast<const float*>(p.master) + at, parameter);
    } else if constexpr (MASTER == Master::Split) {
      const Vec<uint16_t, kPerLane> high = load_vec<kPerLane>(reinterpret_cast<const uint16_t*>(weight));
      const Vec<int16_t, kPerLane> low = load_vec<kPerLane>(static_cast<const int16_t*>(p.master) + at);
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) parameter[i] = join_master(Bf16{high.v[i]}, low.v[i]);
    } else {
      load_wide<kPerLane>(weight, parameter);
    }
    States<S>::load(p.m, p.m_scale, tables[0], block, at, m);
    States<S>::load(p.v, p.v_scale, tables[kCodes ? 1 : 0], block, at, v);

#pragma unroll
    for (int i = 0; i < kPerLane; ++i)
      parameter[i] = adamw_element(step, gradient[i] * factor, parameter[i], m[i], v[i]);

    if constexpr (sizeof(W) == 4) {
      store_vec(weight, narrow<float>(parameter));
    } else {
      Vec<uint16_t, kPerLane> high;
      if constexpr (MASTER == Master::None) {
        const PhiloxBlock random =
            rounding_block(seed_low, seed_high, c.group, static_cast<uint64_t>(at) / 8);
#pragma unroll
        for (int i = 0; i < kPerLane; ++i)
          high.v[i] = to_bf16_stochastic(parameter[i], rounding_bits(random, i)).bits;
      } else {
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) high.v[i] = to_bf16_ties_away(parameter[i]).bits;
      }
      store_vec(reinterpret_cast<uint16_t*>(weight), high);
      if constexpr (MASTER == Master::Whole) {
        store_vec(static_cast<float*>(p.master) + at, narrow<float>(parameter));
      } else if constexpr (MASTER == Master::Split) {
        Vec<int16_t, kPerLane> low;
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) low.v[i] = split_remainder(parameter[i]);
        store_vec(static_cast<int16_t*>(p.master) + at, low);
      }
    }
    States<S>::template store<true>(p.m, p.m_scale, tables[0], block, at, m);
    States<S>::template store<false>(p.v, p.v_scale, tables[kCodes ? 1 : 0], block, at, v);
  }
}

template <class G, class W, Master MASTER, class S>
Launch bind_all(const Binding& b) {
  using A = slot::AdamW;
  const Pointers p{b.address(A::Gradient),
                   b.address(A::Weight),
                   b.address(A::Master),
                   b.address(A::M),
                   b.address(A::V),
                   b.data<float>(A::MScale),
                   b.data<float>(A::VScale),
                   b.data<const float>(A::Scalars),
                   b.data<const float>(A::Clip)};
  const OpAttributes& a = b.attributes();
  Call call{};
  call.blocks = ceil_div(b.tensor(A::Gradient).elements(), kStateBlock);
  call.beta1 = static_cast<float>(a.beta1);
  call.beta2 = static_cast<float>(a.beta2);
  call.eps = static_cast<float>(a.eps);
  call.lr_factor = static_cast<float>(a.lr_factor);
  call.weight_decay = static_cast<float>(a.weight_decay);
  call.group = static_cast<uint32_t>(a.group);
  int blocks_each = 0;
  check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, adamw_kernel<G, W, MASTER, S>, kThreads, 0),
      "reading AdamW's occupancy");
  const unsigned grid =
      grid_size(b, std::min<int64_t>(ceil_div(call.blocks, kThreads / 32),
                                     static_cast<int64_t>(blocks_each) * b.multiprocessors()));
  return [=](cudaStream_t stream) {
    launch_kernel("adamw", adamw_kernel<G, W, MASTER, S>, grid, kThreads, 0, stream, p, call);
  };
}

template <class G, class W, Master MASTER>
Launch bind_states(const Binding& b) {
  switch (b.dtype(slot::AdamW::M)) {
    case DType::F32:
      return bind_all<G, W, MASTER, float>(b);
    case DType::BF16:
      return bind_all<G, W, MASTER, bf16>(b);
    case DType::U8:
      return bind_all<G, W, MASTER, uint8_t>(b);
    default:
      unsupported_dtype(b);
  }
}

template <class G>
struct Bind {
  static Launch bind(const Binding& b) {
    using A = slot::AdamW;
    if (b.tensor(A::Gradient).elements() % kStateBlock != 0)
      throw Error(ErrorCode::Internal,
                  describe(b.op()) + ": a group must be padded to blocks of 256 elements.");
    if (b.dtype(A::Weight) == DType::F32 && !b.has(A::Master)) return bind_states<G, float, Master::None>(b);
    if (b.dtype(A::Weight) != DType::BF16) unsupported_dtype(b);
    if (!b.has(A::Master)) return bind_states<G, bf16, Master::None>(b);
    return b.dtype(A::Master) == DType::F32 ? bind_states<G, bf16, Master::Whole>(b)
                                            : bind_states<G, bf16, Master::Split>(b);
  }
};

}  // namespace

Launch bind_adamw(const Binding& binding) {
  const QuantiseTable tables[2] = {make_quantise_table(true), make_quantise_table(false)};
  check(cudaMemcpyToSymbol(quantise_tables, tables, sizeof tables), "uploading the 8-bit maps");
  return dispatch_float<Bind>(binding, slot::AdamW::Gradient);
}

}  // namespace lathe::cuda
