// Numbers as people write them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/config/parameter_rules.h"
#include "core/config/size_text.h"
#include "core/config/text_util.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

TEST(SizeText, Parse_KnownForms_GiveTheirValue) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"0", 0},
      {"4096", 4096},
      {" 12 ", 12},
      {"-5", -5},
      {"4k", 4096},
      {"4K", 4096},
      {"4KiB", 4096},
      {"1M", 1 << 20},
      {"512MiB", std::int64_t{512} << 20},
      {"15GiB", std::int64_t{15} << 30},
      {"15 GiB", std::int64_t{15} << 30},
      {"1.5GiB", std::int64_t{3} << 29},
      {"2T", std::int64_t{2} << 40},
      {"2e9", 2000000000},
      {"20E9", 20000000000},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"15.9GiB", 17072495002}};
  for (const auto& [text, value] : cases) EXPECT_EQ(parse_whole_number(text), value) << text;
}

TEST(SizeText, Parse_Nonsense_IsRefused) {
  for (const std::string text :
       {"",      " ",        "k",     "GiB",   "4m", "4g",  "15GB", "2.5",   "1e-3",
        "0x10",  "1,000",    "1_000", "--1",   "+",  "nan", "inf",  "1e400", "9223372036854775808",
        "9e18k", "8388608T", "4kk",   "4 k k", "e5", "5e",  "1..2", "1e5.5"}) {
    EXPECT_THROW(parse_whole_number(text), Error) << text;
  }
}

TEST(SizeText, FormatBytes_Multiples_UseTheLargestUnit) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(format_bytes(1536), "1536");
  EXPECT_EQ(format_bytes(2048), "2KiB");
  EXPECT_EQ(format_bytes(std::int64_t{15} << 30), "15GiB");
  EXPECT_EQ(format_bytes(-(std::int64_t{1} << 20)), "-1MiB");
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{3} << 29, std::int64_t{1} << 50,
                                   std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(parse_whole_number(format_bytes(bytes)), bytes);
  }
}

TEST(SizeText, FormatReal_IsShortAndReadsBack) {
  EXPECT_EQ(format_real(3e-4), "3e-4");
  EXPECT_EQ(format_real(0.1), "0.1");
  EXPECT_EQ(format_real(0), "0");
  EXPECT_EQ(format_real(500000), "500000");
  EXPECT_EQ(format_real(1e300), "1e300");
  EXPECT_EQ(format_real(1e-10), "1e-10");
  for (const double value : {0.1, 1.0 / 3, 3e-4, 1e-300, -2.5, 123456789.123, 1e22, 5e-324}) {
    EXPECT_EQ(parse_real(format_real(value)), value);
  }
}

TEST(SizeText, ParseReal_Nonsense_IsRefused) {
  for (const std::string text : {"", "nan", "inf", "-inf", "1e999", "1.2.3", "abc", "1 2", "0x1p3"}) {
    EXPECT_THROW(parse_real(text), Error) << text;
  }
}

TEST(TextUtil, EditDistance_KnownPairs) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("Layers", "layers"), 0u);
}

TEST(ParameterRules, Glob_KnownPairs_MatchWhole) {
  EXPECT_TRUE(matches_glob("*norm*", "layer.3.attn_norm.weight"));
  EXPECT_TRUE(matches_glob("layer.?.attn.*.weight", "layer.3.attn.qkv.weight"));
  EXPECT_FALSE(matches_glob("layer.?.attn.*.weight", "layer.13.attn.qkv.weight"));
  EXPECT_FALSE(matches_glob("norm", "final_norm.weight"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_TRUE(matches_glob("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(matches_glob(std::string(50, '*') + "x", std::string(5000, 'a')));  // and in no time
}

TEST(ParameterRules, RuleIndex_FirstMatchWins) {
  const std::vector<ParameterRule> rules = {
      {"*norm*", 1, 0.0, {}}, {"layer.0.*", 2, {}, {}}, {"*", 3, {}, {}}};
  EXPECT_EQ(rule_index(rules, "layer.0.ffn_norm.weight"), 0u);
  EXPECT_EQ(rule_index(rules, "layer.0.ffn.down.weight"), 1u);
  EXPECT_EQ(rule_index({rules[0]}, "embed.weight"), std::nullopt);
}

}  // namespace
}  // namespace lathe
