// Arithmetic that every backend must do with the same bits: BF16 casts, the split FP32 master, 8-bit
// optimizer codes, counter-based random bits, and one AdamW step. Plain functions for host and device
// compilers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define LATHE_HOST_DEVICE __host__ __device__ __forceinline__
#elif defined(_MSC_VER)
#define LATHE_HOST_DEVICE __forceinline
#else
// Forced, so that a copy compiled for one instruction set never stands in for another.
#define LATHE_HOST_DEVICE inline __attribute__((always_inline))
#endif

namespace lathe {

// BF16 as it lies in memory: the upper half of an FP32.
struct Bf16 {
  uint16_t bits;
};

LATHE_HOST_DEVICE uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

LATHE_HOST_DEVICE float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

LATHE_HOST_DEVICE float to_float(Bf16 value) {
  return float_from_bits(static_cast<uint32_t>(value.bits) << 16);
}

// Round to nearest, ties to even: how every op stores BF16. NaN stays NaN (quiet), overflow becomes infinity.
LATHE_HOST_DEVICE Bf16 to_bf16(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return Bf16{static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

// Round to nearest, ties away from zero: how a BF16 weight is cast from its FP32 master, whether that master
// is whole or split. Only this cast can be inverted with a signed 16-bit remainder.
LATHE_HOST_DEVICE Bf16 to_bf16_ties_away(float value) {
  return Bf16{static_cast<uint16_t>((float_bits(value) + 0x8000u) >> 16)};
}

// What to_bf16_ties_away() dropped, as a signed difference of the bit patterns.
LATHE_HOST_DEVICE int16_t split_remainder(float master) {
  return static_cast<int16_t>(static_cast<uint16_t>(float_bits(master) & 0xffffu));
}

// The exact FP32 master of a weight cast with ties away and its remainder.
LATHE_HOST_DEVICE float join_master(Bf16 weight, int16_t remainder) {
  return float_from_bits((static_cast<uint32_t>(weight.bits) << 16) +
                         static_cast<uint32_t>(static_cast<int32_t>(remainder)));
}

// Four 32-bit words of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
struct PhiloxBlock {
  uint32_t words[4];
};

LATHE_HOST_DEVICE PhiloxBlock philox4x32(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(0xD2511F53u) * counter.words[0];
    const uint64_t product1 = static_cast<uint64_t>(0xCD9E8D57u) * counter.words[2];
    const uint32_t high0 = static_cast<uint32_t>(product0 >> 32), low0 = static_cast<uint32_t>(product0);
    const uint32_t high1 = static_cast<uint32_t>(product1 >> 32), low1 = static_cast<uint32_t>(product1);
    counter = PhiloxBlock{{high1 ^ counter.words[1] ^ key0, low1, high0 ^ counter.words[3] ^ key1, low0}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// Random bits of stochastic rounding: one block serves the eight elements 8·block .. 8·block+7 of a parameter
// group's buffer. `seed_low`, `seed_high` are the step's RandomLow and RandomHigh, `group` the op's
// attribute.
LATHE_HOST_DEVICE PhiloxBlock rounding_block(uint32_t seed_low, uint32_t seed_high, uint32_t group,
                                             uint64_t block) {
  return philox4x32(
      PhiloxBlock{{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), group, 0u}}, seed_low,
      seed_high);
}

// The 16 random bits of element `lane` (its index modulo 8) of a block: word lane/2, low half first.
LATHE_HOST_DEVICE uint32_t rounding_bits(const PhiloxBlock& block, int lane) {
  return (block.words[lane >> 1] >> ((lane & 1) * 16)) & 0xffffu;
}

// Rounds up with the probability of the dropped fraction: exactly unbiased for finite values. `random16` is
// uniform in 0..65535. Infinity and NaN are kept.
LATHE_HOST_DEVICE Bf16 to_bf16_stochastic(float value, uint32_t random16) {
  const uint32_t bits = float_bits(value);
  const bool special = (bits & 0x7f800000u) == 0x7f800000u;
  const uint32_t kept = (bits >> 16) | ((bits & 0x7fffffffu) > 0x7f800000u ? 0x40u : 0u);
  return Bf16{static_cast<uint16_t>(special ? kept : (bits + random16) >> 16)};
}

// AdamW's 8-bit states are block-wise quantised with bitsandbytes' dynamic maps: code c of a block stands for
// map[c] · scale, scale being the block's largest magnitude.
constexpr int kStateBlock = 256;

// The 256 values of bitsandbytes' create_dynamic_map(signed, max_exponent_bits 7, total_bits 8), ascending,
// and the midpoints between neighbours. Host only; upload it once.
struct DynamicMap {
  float values[256];
  float midpoints[255];
};

inline DynamicMap make_dynamic_map(bool is_signed) {
  // Decade i (10^(i-6)) is cut into 2^i (signed) or 2^(i+1) equal parts of [0.1, 1]; the map holds their
  // centres.
  float positive[256];
  int count = 0;
  for (int decade = 0; decade < 7; ++decade) {
    const int parts = is_signed ? 1 << decade : 1 << (decade + 1);
    // torch.linspace in FP32: from the left below the middle, from the right above it, fused multiply-adds.
    const float step = (1.0f - 0.1f) / static_cast<float>(parts);
    const auto boundary = [&](int i) {
      return i < (parts + 1) / 2 ? std::fma(step, static_cast<float>(i), 0.1f)
                                 : std::fma(-step, static_cast<float>(parts - i), 1.0f);
    };
    const float power = static_cast<float>(std::pow(10.0, decade - 6));
    for (int i = 0; i < parts; ++i) positive[count++] = power * ((boundary(i) + boundary(i + 1)) / 2.0f);
  }
  DynamicMap map{};
  int next = 0;
  if (is_signed) {
    for (int i = count - 1; i >= 0; --i) map.values[next++] = -positive[i];
  }
  map.values[next++] = 0.0f;
  for (int i = 0; i < count; ++i) map.values[next++] = positive[i];
  map.values[next++] = 1.0f;
  for (int i = 0; i < 255; ++i) map.midpoints[i] = (map.values[i] + map.values[i + 1]) * 0.5f;
  return map;
}

// The code nearest to `normalised` (value / scale; 0 when the scale is 0). A midpoint goes to the lower code.
LATHE_HOST_DEVICE uint8_t nearest_code(const float* midpoints, float normalised) {
  int code = 0;
  for (int step = 128; step > 0; step >>= 1) code += normalised > midpoints[code + step - 1] ? step : 0;
  return static_cast<uint8_t>(code);
}

// The signed map's code of zero; negative values stand below it.
constexpr int kSignedZeroCode = 127;

// As nearest_code() with the signed map, but a negative value never becomes zero or positive (bitsandbytes'
// rule; a tiny positive one may become zero).
LATHE_HOST_DEVICE uint8_t nearest_signed_code(const float* midpoints, float normalised) {
  const uint8_t code = nearest_code(midpoints, normalised);
  return normalised < 0.0f && code >= kSignedZeroCode ? static_cast<uint8_t>(kSignedZeroCode - 1) : code;
}

// Coefficients of one AdamW step, computed once per op from the step scalars and the op's attributes.
template <class T>
struct AdamWStep {
  T beta1, beta2;
  T one_minus_beta1, one_minus_beta2;
  T keep;           // 1 - lr · weight_decay
  T step_size;      // lr / (1 - beta1^t)
  T inv_sqrt_bias;  // 1 / sqrt(1 - beta2^t)
  T eps;
};

// One element, as torch.optim.AdamW (Loshchilov & Hutter, 2019): decay, moments, parameter. `gradient` is
// already clipped. Updates m and v in place and returns the new parameter.
template <class T>
LATHE_HOST_DEVICE T adamw_element(const AdamWStep<T>& step, T gradient, T parameter, T& m, T& v) {
  m = step.beta1 * m + step.one_minus_beta1 * gradient;
  v = step.beta2 * v + step.one_minus_beta2 * gradient * gradient;
  using std::sqrt;
  return parameter * step.keep - step.step_size * (m / (sqrt(v) * step.inv_sqrt_bias + step.eps));
}

}  // namespace lathe
