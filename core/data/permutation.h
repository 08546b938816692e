// A keyed permutation of 0 … n-1 in O(1) memory: any place is computed, none remembered.
#pragma once

#include <bit>
#include <cstdint>

namespace lathe {

// SplitMix64's finaliser: every input bit changes every output bit.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A balanced Feistel network over the next even number of bits, walked along its cycle until it lands below
// n: at most 4 n values, so under 4 rounds of walking on average. Six rounds keep neighbours unrelated.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t key) : n_(n), key_(key) {
    const int bits = n <= 1 ? 0 : static_cast<int>(std::bit_width(n - 1));
    half_bits_ = (bits + 1) / 2;
    half_mask_ = (uint64_t{1} << half_bits_) - 1;
  }

  // 0 <= i < n.
  uint64_t operator()(uint64_t i) const {
    do {
      i = scramble(i);
    } while (i >= n_);
    return i;
  }

 private:
  uint64_t scramble(uint64_t i) const {
    uint64_t left = i >> half_bits_, right = i & half_mask_;
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t next = left ^ (mix64(key_ ^ mix64(right + (round << 56))) & half_mask_);
      left = right;
      right = next;
    }
    return (left << half_bits_) | right;
  }

  uint64_t n_;
  uint64_t key_;
  int half_bits_ = 0;
  uint64_t half_mask_ = 0;
};

}  // namespace lathe
