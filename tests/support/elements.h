// Elements of host memory as FP64, whatever their dtype; and fixed-seed random values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/api/numerics.h"
#include "kernels/api/tensor.h"

namespace lathe::test {

inline double load_element(const std::byte* at, DType dtype) {
  const auto as = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::F64:
      return as(double{});
    case DType::F32:
      return static_cast<double>(as(float{}));
    case DType::BF16:
      return static_cast<double>(to_float(as(Bf16{})));
    case DType::I32:
      return as(int32_t{});
    case DType::I16:
      return as(int16_t{});
    case DType::U8:
      return as(uint8_t{});
  }
  return 0;
}

// Rounds to nearest even where the dtype is narrower.
inline void store_element(std::byte* at, DType dtype, double value) {
  const auto put = [at](auto element) { std::memcpy(at, &element, sizeof element); };
  switch (dtype) {
    case DType::F64:
      return put(value);
    case DType::F32:
      return put(static_cast<float>(value));
    case DType::BF16:
      return put(to_bf16(static_cast<float>(value)));
    case DType::I32:
      return put(static_cast<int32_t>(value));
    case DType::I16:
      return put(static_cast<int16_t>(value));
    case DType::U8:
      return put(static_cast<uint8_t>(value));
  }
}

class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : engine_(seed) {}

  std::vector<double> normal(int64_t count, double deviation = 1, double mean = 0) {
    std::normal_distribution<double> distribution(mean, deviation);
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = distribution(engine_);
    return values;
  }

  // Integers from low to high, both included.
  std::vector<double> integers(int64_t count, int64_t low, int64_t high) {
    std::uniform_int_distribution<int64_t> distribution(low, high);
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = static_cast<double>(distribution(engine_));
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace lathe::test
