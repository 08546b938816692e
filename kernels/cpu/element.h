// How elements are loaded, computed with and stored: Wide<S> is the arithmetic type of storage type S.
#pragma once

#include <cstdint>

#include "kernels/api/numerics.h"
#include "kernels/api/tensor.h"

// A hot leaf function, compiled for plain x86-64, AVX2 and AVX-512; the loader picks one for the processor.
// Sanitized builds leave it out: the loader's choice runs before their runtime is up.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LATHE_VECTORIZED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LATHE_VECTORIZED
#endif

namespace lathe::cpu {

template <class S>
struct WideOf {
  using Type = S;
};
template <>
struct WideOf<Bf16> {
  using Type = float;
};
template <class S>
using Wide = typename WideOf<S>::Type;

template <class T>
inline constexpr DType kDTypeOf = DType::F32;
template <>
inline constexpr DType kDTypeOf<double> = DType::F64;
template <>
inline constexpr DType kDTypeOf<Bf16> = DType::BF16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::I32;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::I16;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::U8;

LATHE_HOST_DEVICE float load(float value) {
  return value;
}
LATHE_HOST_DEVICE double load(double value) {
  return value;
}
LATHE_HOST_DEVICE float load(Bf16 value) {
  return to_float(value);
}

LATHE_HOST_DEVICE void store(float& out, float value) {
  out = value;
}
LATHE_HOST_DEVICE void store(double& out, double value) {
  out = value;
}
LATHE_HOST_DEVICE void store(Bf16& out, float value) {
  out = to_bf16(value);
}

// Long sums of FP32 are cut into chunks of this size, whose sums are added in FP64: the error doesn't grow
// with the vocabulary or the context.
inline constexpr int64_t kSumChunk = 512;

// e^x for FP32 by Cephes' polynomial: within 1.5 ulp on [-87.3, 88.3], clamped outside (so never infinity or
// 0, within a factor the callers' sums don't see); NaN stays NaN. Vectorises, unlike libm's.
LATHE_HOST_DEVICE float fast_exp(float x) {
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.3f ? 88.3f : x;
  // Adding 1.5·2^23 leaves the nearest integer n of x·log2(e) in the low mantissa bits.
  const float shifted = x * 1.44269504088896341f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * float_from_bits((float_bits(shifted) << 23) + 0x3f800000u);
}

// FP64 programs check gradients: accuracy before speed.
LATHE_HOST_DEVICE double fast_exp(double x) {
  return std::exp(x);
}

}  // namespace lathe::cpu
