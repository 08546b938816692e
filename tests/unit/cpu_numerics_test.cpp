// The arithmetic that all backends share: casts, split masters, random bits, 8-bit codes; and the fast
// exponential.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/api/numerics.h"
#include "kernels/cpu/element.h"
#include "tests/support/elements.h"

namespace lathe {
namespace {

constexpr uint64_t kSeed = 20261201;

// Bit patterns over the whole range of FP32, signs, subnormals and specials included.
template <class Check>
void for_many_floats(const Check& check) {
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 4093) {
    check(float_from_bits(static_cast<uint32_t>(bits)));
  }
}

TEST(Bf16, NearestEven_AgainstNeighbours_IsTheNearest) {
  for_many_floats([](float value) {
    const Bf16 rounded = to_bf16(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(rounded)));
      return;
    }
    if (!std::isfinite(to_float(rounded))) return;  // overflow has no finite neighbour to compare with
    const double error = std::abs(static_cast<double>(to_float(rounded)) - static_cast<double>(value));
    for (const int step : {-1, 1}) {
      const Bf16 neighbour{static_cast<uint16_t>(rounded.bits + step)};
      if ((neighbour.bits & 0x8000) != (rounded.bits & 0x8000) || !std::isfinite(to_float(neighbour)))
        continue;
      const double other = std::abs(static_cast<double>(to_float(neighbour)) - static_cast<double>(value));
      ASSERT_LE(error, other) << value;
      if (error == other) {
        ASSERT_EQ(rounded.bits & 1, 0) << value;
      }
    }
  });
}

TEST(Bf16, Overflow_BecomesInfinity) {
  EXPECT_TRUE(std::isinf(to_float(to_bf16(std::numeric_limits<float>::max()))));
  EXPECT_TRUE(std::isinf(to_float(to_bf16(-std::numeric_limits<float>::infinity()))));
}

TEST(SplitMaster, AnyFiniteFloat_JoinsToTheSameBits) {
  for_many_floats([](float master) {
    if (!std::isfinite(master)) return;
    const float joined = join_master(to_bf16_ties_away(master), split_remainder(master));
    ASSERT_EQ(float_bits(joined), float_bits(master));
  });
}

TEST(Philox, KnownAnswers_Match) {
  // Random123's kat_vectors for philox4x32-10.
  const PhiloxBlock zeros = philox4x32({{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zeros.words[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.words[1], 0xe169c58du);
  EXPECT_EQ(zeros.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.words[3], 0x9b00dbd8u);
  const PhiloxBlock ones = philox4x32({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u);
  EXPECT_EQ(ones.words[0], 0x408f276du);
  EXPECT_EQ(ones.words[1], 0x41c83b0eu);
  EXPECT_EQ(ones.words[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.words[3], 0x6d5451fdu);
  const PhiloxBlock digits =
      philox4x32({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u);
  EXPECT_EQ(digits.words[0], 0xd16cfe09u);
  EXPECT_EQ(digits.words[1], 0x94fdccebu);
  EXPECT_EQ(digits.words[2], 0x5001e420u);
  EXPECT_EQ(digits.words[3], 0x24126ea1u);
}

TEST(StochasticRounding, AllRandomBits_AreExactlyUnbiased) {
  test::RandomValues random(kSeed);
  for (const double value : random.normal(20, 3)) {
    const auto exact = static_cast<float>(value);
    double sum = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      sum += static_cast<double>(to_float(to_bf16_stochastic(exact, bits)));
    }
    EXPECT_DOUBLE_EQ(sum / 65536, static_cast<double>(exact));
  }
}

TEST(StochasticRounding, SpecialValues_AreKept) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_float(to_bf16_stochastic(infinity, 65535)), infinity);
  EXPECT_TRUE(std::isnan(to_float(to_bf16_stochastic(std::numeric_limits<float>::quiet_NaN(), 65535))));
  EXPECT_EQ(to_bf16_stochastic(1.5f, 65535).bits, to_bf16(1.5f).bits);
}

TEST(StochasticRounding, LanesOfABlock_AreUniform) {
  double sum = 0;
  constexpr int kBlocks = 4096;
  for (uint64_t block = 0; block < kBlocks; ++block) {
    for (int lane = 0; lane < 8; ++lane) sum += rounding_bits(rounding_block(7, 9, 1, block), lane);
  }
  // Five standard deviations of a mean of 32768 uniform values.
  EXPECT_NEAR(sum / (8 * kBlocks), 32767.5, 5 * 65536 / std::sqrt(12.0 * 8 * kBlocks));
}

// The published construction in FP64: decade i is cut into equal parts, the map holds their centres.
std::vector<double> exact_map(bool is_signed) {
  std::vector<double> values = {0, 1};
  for (int decade = 0; decade < 7; ++decade) {
    const int parts = is_signed ? 1 << decade : 2 << decade;
    for (int part = 0; part < parts; ++part) {
      const double centre = std::pow(10, decade - 6) * (0.1 + 0.9 * (part + 0.5) / parts);
      values.push_back(centre);
      if (is_signed) values.push_back(-centre);
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

TEST(DynamicMap, BothMaps_FollowThePublishedConstruction) {
  for (const bool is_signed : {true, false}) {
    const DynamicMap map = make_dynamic_map(is_signed);
    const std::vector<double> exact = exact_map(is_signed);
    ASSERT_EQ(exact.size(), 256u);
    for (size_t i = 0; i < 256; ++i) {
      ASSERT_NEAR(static_cast<double>(map.values[i]), exact[i], 3e-7 * std::abs(exact[i])) << i;
      if (i > 0) {
        ASSERT_LT(map.values[i - 1], map.values[i]);
      }
    }
    EXPECT_EQ(map.values[is_signed ? kSignedZeroCode : 0], 0.0f);
    EXPECT_EQ(map.values[255], 1.0f);
  }
}

// What create_dynamic_map of bitsandbytes 0.50.2 returns under torch 2.11 (whose linspace gives these bits
// with AVX2 and with AVX-512): some entries, and an FNV-1a hash of all 256. tests/gpu/against_bitsandbytes.py
// compares them all with an installed bitsandbytes.
TEST(DynamicMap, BothMaps_AreBitsandbytesBitForBit) {
  struct Map {
    bool is_signed;
    uint64_t hash;
    std::vector<std::pair<int, uint32_t>> entries;
  };
  const Map maps[] = {
      {true,
       0xd677f22a96665bc4,
       {{1, 0xbf7a999a},
        {20, 0xbf363334},
        {100, 0xbbf4bc6a},
        {128, 0x3513a3b7},
        {150, 0x3bab020d},
        {254, 0x3f7e3333}}},
      {false,
       0x43811b16730a873e,
       {{1, 0x34ae7baa},
        {20, 0x39d6a163},
        {39, 0x3b5e3540},
        {100, 0x3d807ae2},
        {150, 0x3e87cccd},
        {254, 0x3f7f199a}}},
  };
  for (const Map& expected : maps) {
    const DynamicMap map = make_dynamic_map(expected.is_signed);
    for (const auto& [code, bits] : expected.entries) EXPECT_EQ(float_bits(map.values[code]), bits) << code;
    uint64_t hash = 0xcbf29ce484222325;
    for (const float value : map.values) {
      for (int byte = 0; byte < 4; ++byte)
        hash = (hash ^ (float_bits(value) >> (8 * byte) & 0xff)) * 0x100000001b3;
    }
    EXPECT_EQ(hash, expected.hash) << expected.is_signed;
  }
}

TEST(DynamicMap, NearestCode_AgainstTryingAll_IsTheNearest) {
  test::RandomValues random(kSeed);
  for (const bool is_signed : {true, false}) {
    const DynamicMap map = make_dynamic_map(is_signed);
    for (const double spread : {1.0, 1e-2, 1e-5}) {
      for (const double value : random.normal(2000, spread)) {
        const auto normalised = static_cast<float>(std::clamp(value, is_signed ? -1.0 : 0.0, 1.0));
        const uint8_t code = nearest_code(map.midpoints, normalised);
        for (const float other : map.values) {
          ASSERT_LE(std::abs(map.values[code] - normalised), std::abs(other - normalised) * 1.000001f)
              << normalised;
        }
      }
    }
    for (int code = 0; code < 256; ++code) EXPECT_EQ(nearest_code(map.midpoints, map.values[code]), code);
  }
}

TEST(DynamicMap, SignedCode_KeepsNegativeValuesNegative) {
  const DynamicMap map = make_dynamic_map(true);
  for (const float value : {-1e-30f, -1e-8f, -2e-7f}) {
    EXPECT_LT(map.values[nearest_signed_code(map.midpoints, value)], 0.0f);
    EXPECT_GE(map.values[nearest_signed_code(map.midpoints, -value)], 0.0f);
  }
  EXPECT_EQ(nearest_signed_code(map.midpoints, 0.0f), kSignedZeroCode);
}

TEST(FastExp, WholeRange_WithinTwoUlp) {
  double worst = 0;
  for (float x = -87.3f; x <= 88.3f; x = std::nextafter(x, 100.0f) + 1e-4f) {
    const double exact = std::exp(static_cast<double>(x));
    const auto near = static_cast<float>(exact);
    const double ulp = static_cast<double>(std::nextafter(near, std::numeric_limits<float>::infinity())) -
                       static_cast<double>(near);
    worst = std::max(worst, std::abs(static_cast<double>(cpu::fast_exp(x)) - exact) / ulp);
  }
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, 2.0);
}

TEST(FastExp, Extremes_StayFiniteAndNaNStays) {
  EXPECT_LT(cpu::fast_exp(-1000.0f), 1e-37f);
  EXPECT_TRUE(std::isfinite(cpu::fast_exp(1000.0f)));
  EXPECT_TRUE(std::isnan(cpu::fast_exp(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lathe
