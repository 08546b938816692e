// Random settings for tests: every setting gets a value its row allows; rules between settings may be broken.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/config/setting_info.h"
#include "core/config/value_text.h"

namespace lathe::test {

class RandomValue {
 public:
  explicit RandomValue(std::uint64_t seed) : random_(seed) {}

  void operator()(const SettingInfo& info, std::int64_t& value) {
    const double high = std::min(info.range.high, 1e15);
    value = std::uniform_int_distribution<std::int64_t>(static_cast<std::int64_t>(info.range.low),
                                                        static_cast<std::int64_t>(high))(random_);
  }
  void operator()(const SettingInfo& info, double& value) {
    const double high = std::min(info.range.high, 1e6);
    value = std::uniform_real_distribution<double>(info.range.low, high)(random_);
    if (one_in(4)) value = std::max(info.range.low, std::floor(value));
  }
  void operator()(const SettingInfo&, bool& value) { value = one_in(2); }
  void operator()(const SettingInfo&, std::string& value) { value = text(); }
  void operator()(const SettingInfo&, std::vector<std::string>& value) {
    value.resize(below(4));
    for (std::string& item : value) item = text();
  }
  void operator()(const SettingInfo& info, AutoInt& value) {
    value = {};
    if (one_in(3)) return;
    value.automatic = false;
    (*this)(info, value.value);
  }
  void operator()(const SettingInfo&, RecomputeSetting& value) {
    value = {};
    value.automatic = one_in(4);
    if (value.automatic) return;
    value.levels.resize(1 + below(40));
    for (RecomputeLevel& level : value.levels) level = static_cast<RecomputeLevel>(below(6));
  }
  void operator()(const SettingInfo&, std::vector<DataSource>& value) {
    value.resize(below(4));
    for (DataSource& source : value) {
      source = {text() + "x", one_in(2) ? 1.0 : real(),
                one_in(2) ? 0 : static_cast<std::int64_t>(below(1 << 30))};
    }
  }
  void operator()(const SettingInfo&, std::vector<ParameterRule>& value) {
    value.resize(below(4));
    for (ParameterRule& rule : value) {
      rule = {one_in(2) ? "*norm*" : text() + "*", one_in(2) ? 1.0 : real(), std::nullopt, std::nullopt};
      if (one_in(2)) rule.weight_decay = real();
      if (one_in(2)) rule.init_std = real();
    }
  }
  template <ChoiceEnum Enum>
  void operator()(const SettingInfo&, Enum& value) {
    value = static_cast<Enum>(below(choices<Enum>.size()));
  }

  // Text with everything that shorthands, JSON and terminals give a meaning to.
  std::string text() {
    static const std::vector<std::string> pieces = {"data", "/", " ",  ",",  ";",    "*",  "@",
                                                    "=",    "[", "]",  "\"", "'",    "\n", "|",
                                                    "0",    "7", "\\", "ä",  "日本", "\t"};
    std::string result;
    for (std::size_t i = below(6); i > 0; --i) result += pieces[below(pieces.size())];
    return result;
  }

  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  double real() { return std::uniform_real_distribution<double>(0, 10)(random_); }
  std::mt19937_64& engine() { return random_; }

 private:
  std::mt19937_64 random_;
};

inline RunConfig random_values(std::uint64_t seed) {
  RunConfig config;
  for_each_setting(config, RandomValue(seed));
  return config;
}

}  // namespace lathe::test
