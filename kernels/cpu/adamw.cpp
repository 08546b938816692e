// AdamW over one parameter group, in one pass: clip, moments, decay, parameter, storage. Blocks of 256
// elements are widened into registers' reach, updated, and stored by each tensor's own rule: FP32 or BF16 or
// 8-bit moments; weights in place, beside an FP32 master, split into BF16 and a 16-bit remainder, or BF16
// with stochastic rounding.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kElementsPerItem = 16 * kStateBlock;

enum class WeightRule {
  InPlace,     // FP32 or FP64 weight, no master
  Stochastic,  // BF16 weight, no master
  Master,      // FP32 master; the weight is its cast
  Split        // BF16 weight and I16 remainder
};

template <class W>
struct AdamWOperands {
  int64_t elements;
  const void* gradient;
  DType gradient_dtype;
  WeightRule rule;
  void* weight;
  DType weight_dtype;
  void* master;  // W, or int16_t for Split
  void *m, *v;
  DType state_dtype;
  float *m_scale, *v_scale;  // a block each, with U8
  const W *scalars, *clip;
  std::shared_ptr<const DynamicMap> m_map, v_map;
};

template <class W>
LATHE_VECTORIZED void update_block(const AdamWStep<W>& step, W clip, const W* gradient, W* parameter, W* m,
                                   W* v, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    parameter[i] = adamw_element(step, clip * gradient[i], parameter[i], m[i], v[i]);
  }
}

template <class S>
LATHE_VECTORIZED void narrow_row(const Wide<S>* row, S* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) store(out[i], row[i]);
}

LATHE_VECTORIZED void cast_weights(const float* master, Bf16* weight, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) weight[i] = to_bf16_ties_away(master[i]);
}

LATHE_VECTORIZED void join_masters(const Bf16* weight, const int16_t* remainder, float* master, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) master[i] = join_master(weight[i], remainder[i]);
}

LATHE_VECTORIZED void split_masters(const float* master, Bf16* weight, int16_t* remainder, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    weight[i] = to_bf16_ties_away(master[i]);
    remainder[i] = split_remainder(master[i]);
  }
}

void round_stochastically(const float* row, uint32_t seed_low, uint32_t seed_high, uint32_t group,
                          int64_t begin, Bf16* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) {
    const PhiloxBlock block =
        rounding_block(seed_low, seed_high, group, static_cast<uint64_t>(begin + i) / 8);
    for (int64_t lane = 0; lane < std::min<int64_t>(8, n - i); ++lane) {
      out[i + lane] = to_bf16_stochastic(row[i + lane], rounding_bits(block, static_cast<int>(lane)));
    }
  }
}

LATHE_VECTORIZED void dequantise(const uint8_t* codes, const float* map, float scale, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = map[codes[i]] * scale;
}

// Codes of one block; returns its scale, the largest magnitude.
LATHE_VECTORIZED float quantise(const float* values, const float* midpoints, bool is_signed, uint8_t* codes,
                                int64_t n) {
  float scale = 0;
#pragma omp simd reduction(max : scale)
  for (int64_t i = 0; i < n; ++i) scale = std::fabs(values[i]) > scale ? std::fabs(values[i]) : scale;
  for (int64_t i = 0; i < n; ++i) {
    const float normalised = scale > 0 ? values[i] / scale : 0.0f;
    codes[i] = is_signed ? nearest_signed_code(midpoints, normalised) : nearest_code(midpoints, normalised);
  }
  return scale;
}

// Element `begin` onwards of a tensor of FP64, FP32 or BF16, as W.
template <class W>
void load_values(const void* data, DType dtype, int64_t begin, W* out, int64_t n) {
  if constexpr (std::is_same_v<W, float>) {
    if (dtype == DType::BF16) return widen_row(static_cast<const Bf16*>(data) + begin, out, n);
  }
  std::copy_n(static_cast<const W*>(data) + begin, n, out);
}

template <class W>
void store_values(const W* values, void* data, DType dtype, int64_t begin, int64_t n) {
  if constexpr (std::is_same_v<W, float>) {
    if (dtype == DType::BF16) return narrow_row(values, static_cast<Bf16*>(data) + begin, n);
  }
  std::copy_n(values, n, static_cast<W*>(data) + begin);
}

template <class W>
void load_parameters(const AdamWOperands<W>& x, int64_t begin, W* out, int64_t n) {
  if (x.rule == WeightRule::Master) return load_values(x.master, kDTypeOf<W>, begin, out, n);
  if constexpr (std::is_same_v<W, float>) {
    if (x.rule == WeightRule::Split) {
      return join_masters(static_cast<const Bf16*>(x.weight) + begin,
                          static_cast<const int16_t*>(x.master) + begin, out, n);
    }
  }
  load_values(x.weight, x.weight_dtype, begin, out, n);
}

template <class W>
void store_parameters(const AdamWOperands<W>& x, uint32_t group, int64_t begin, const W* values, int64_t n) {
  if (x.rule == WeightRule::Master) store_values(values, x.master, kDTypeOf<W>, begin, n);
  if constexpr (std::is_same_v<W, float>) {
    auto* bf16_weight = static_cast<Bf16*>(x.weight) + begin;
    switch (x.weight_dtype == DType::BF16 ? x.rule : WeightRule::InPlace) {
      case WeightRule::Split:
        return split_masters(values, bf16_weight, static_cast<int16_t*>(x.master) + begin, n);
      case WeightRule::Master:
        return cast_weights(values, bf16_weight, n);
      case WeightRule::Stochastic: {
        const auto seed = [&](StepScalar which) {
          return static_cast<uint32_t>(x.scalars[static_cast<int>(which)]);
        };
        return round_stochastically(values, seed(StepScalar::RandomLow), seed(StepScalar::RandomHigh), group,
                                    begin, bf16_weight, n);
      }
      case WeightRule::InPlace:
        break;
    }
  }
  store_values(values, x.weight, kDTypeOf<W>, begin, n);
}

template <class W>
void update_range(const AdamWOperands<W>& x, const AdamWStep<W>& step, W clip, uint32_t group, int64_t begin,
                  int64_t end) {
  for (; begin < end; begin += kStateBlock) {
    const int64_t n = std::min<int64_t>(kStateBlock, end - begin);
    W gradient[kStateBlock], parameter[kStateBlock], m[kStateBlock], v[kStateBlock];
    load_values(x.gradient, x.gradient_dtype, begin, gradient, n);
    load_parameters(x, begin, parameter, n);
    if constexpr (std::is_same_v<W, float>) {
      if (x.state_dtype == DType::U8) {
        auto *m_codes = static_cast<uint8_t*>(x.m) + begin, *v_codes = static_cast<uint8_t*>(x.v) + begin;
        float &m_scale = x.m_scale[begin / kStateBlock], &v_scale = x.v_scale[begin / kStateBlock];
        dequantise(m_codes, x.m_map->values, m_scale, m, n);
        dequantise(v_codes, x.v_map->values, v_scale, v, n);
        update_block(step, clip, gradient, parameter, m, v, n);
        m_scale = quantise(m, x.m_map->midpoints, true, m_codes, n);
        v_scale = quantise(v, x.v_map->midpoints, false, v_codes, n);
        store_parameters(x, group, begin, parameter, n);
        continue;
      }
    }
    load_values(x.m, x.state_dtype, begin, m, n);
    load_values(x.v, x.state_dtype, begin, v, n);
    update_block(step, clip, gradient, parameter, m, v, n);
    store_values(m, x.m, x.state_dtype, begin, n);
    store_values(v, x.v, x.state_dtype, begin, n);
    store_parameters(x, group, begin, parameter, n);
  }
}

template <class W>
AdamWStep<W> step_of(const W* scalars, const OpAttributes& attributes) {
  const auto scalar = [&](StepScalar which) { return static_cast<double>(scalars[static_cast<int>(which)]); };
  const double lr = scalar(StepScalar::LearningRate) * attributes.lr_factor;
  return {static_cast<W>(attributes.beta1),
          static_cast<W>(attributes.beta2),
          static_cast<W>(1 - attributes.beta1),
          static_cast<W>(1 - attributes.beta2),
          static_cast<W>(1 - lr * attributes.weight_decay),
          static_cast<W>(lr / scalar(StepScalar::BiasCorrection1)),
          static_cast<W>(1 / std::sqrt(scalar(StepScalar::BiasCorrection2))),
          static_cast<W>(attributes.eps)};
}

WeightRule weight_rule(const OpBinding& op) {
  using Slot = slot::AdamW;
  const DType weight = op.dtype(Slot::Weight);
  if (!op.has(Slot::Master)) return weight == DType::BF16 ? WeightRule::Stochastic : WeightRule::InPlace;
  const DType master = op.dtype(Slot::Master);
  op.require(master == DType::I16 ? weight == DType::BF16 : master == DType::F32 || master == DType::F64,
             Slot::Master, "must be fp32, or an int16 remainder beside a bf16 weight");
  return master == DType::I16 ? WeightRule::Split : WeightRule::Master;
}

// Address of a dense operand of one of the dtypes that go with arithmetic type W.
template <class W>
void* values_address(const OpBinding& op, int slot) {
  const DType dtype = op.dtype(slot);
  if (std::is_same_v<W, float> && dtype == DType::BF16) return op.dense<Bf16>(slot);
  return op.dense<W>(slot);
}

template <class W>
Kernel adamw(const OpBinding& op) {
  using Slot = slot::AdamW;
  AdamWOperands<W> x{};
  x.elements = op.tensor(Slot::Weight).elements();
  x.gradient = values_address<W>(op, Slot::Gradient);
  x.gradient_dtype = op.dtype(Slot::Gradient);
  x.rule = weight_rule(op);
  x.weight = values_address<W>(op, Slot::Weight);
  x.weight_dtype = op.dtype(Slot::Weight);
  if (x.rule == WeightRule::Split) x.master = op.dense<int16_t>(Slot::Master);
  if (x.rule == WeightRule::Master) x.master = op.dense<W>(Slot::Master);
  x.state_dtype = op.dtype(Slot::M);
  op.require(op.dtype(Slot::V) == x.state_dtype, Slot::V, "must have the first moment's dtype");
  if (x.state_dtype == DType::U8) {
    op.require(std::is_same_v<W, float>, Slot::M, "can't be 8-bit in an fp64 program");
    x.m = op.dense<uint8_t>(Slot::M);
    x.v = op.dense<uint8_t>(Slot::V);
    x.m_scale = op.dense<float>(Slot::MScale);
    x.v_scale = op.dense<float>(Slot::VScale);
    const int64_t blocks = (x.elements + kStateBlock - 1) / kStateBlock;
    op.require(op.tensor(Slot::MScale).elements() >= blocks, Slot::MScale, "must have one element a block");
    op.require(op.tensor(Slot::VScale).elements() >= blocks, Slot::VScale, "must have one element a block");
    x.m_map = std::make_shared<const DynamicMap>(make_dynamic_map(true));
    x.v_map = std::make_shared<const DynamicMap>(make_dynamic_map(false));
  } else {
    x.m = values_address<W>(op, Slot::M);
    x.v = values_address<W>(op, Slot::V);
  }
  for (const int slot : {+Slot::Gradient, +Slot::M, +Slot::V}) {
    op.require(op.tensor(slot).elements() == x.elements, slot, "must have the weight's size");
  }
  if (x.master) {
    op.require(op.tensor(Slot::Master).elements() == x.elements, Slot::Master, "must have the weight's size");
  }
  x.scalars = op.dense<W>(Slot::Scalars);
  x.clip = op.dense<W>(Slot::Clip);
  const OpAttributes attributes = op.attributes();
  return [x, attributes](Team& team) {
    if (x.clip[static_cast<int>(ClipResult::Skip)] != 0) return;
    const AdamWStep<W> step = step_of(x.scalars, attributes);
    const W clip = x.clip[static_cast<int>(ClipResult::Factor)];
    const auto group = static_cast<uint32_t>(attributes.group);
    team.for_ranges(x.elements, kElementsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      update_range(x, step, clip, group, begin, end);
    });
  };
}

}  // namespace

Kernel make_adamw(const OpBinding& op) {
  if (op.dtype(slot::AdamW::Weight) == DType::F64) return adamw<double>(op);
  return adamw<float>(op);
}

}  // namespace lathe::cpu
