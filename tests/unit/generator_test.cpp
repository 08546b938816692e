// Drawing a token from logits, and the generator over a model: its ids, its end, and a full context.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/train/generator.h"
#include "kernels/api/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace lathe {
namespace {

// Probabilities 0.1, 0.4, 0.2, 0.3 of ids 0 to 3.
std::vector<float> four_logits() {
  return {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
}

SamplingSettings settings(double temperature, int64_t top_k, double top_p) {
  return {temperature, top_k, top_p, 1};
}

// How often each id comes for evenly spread draws.
std::array<int, 4> shares(const SamplingSettings& how) {
  std::array<int, 4> counts{};
  const std::vector<float> logits = four_logits();
  for (int i = 0; i < 1000; ++i)
    ++counts.at(static_cast<size_t>(sample_token(logits, how, (i + 0.5) / 1000)));
  return counts;
}

TEST(SampleToken, TemperatureZero_TakesTheLikeliest) {
  for (const double draw : {0.0, 0.5, 0.999})
    EXPECT_EQ(sample_token(four_logits(), settings(0, 0, 1), draw), 1);
}

TEST(SampleToken, Tie_GoesToTheSmallerId) {
  const std::vector<float> logits = {1, 3, 3, 3};
  EXPECT_EQ(sample_token(logits, settings(0, 0, 1), 0.5), 1);
  EXPECT_EQ(sample_token(logits, settings(1, 1, 1), 0.999), 1);
}

TEST(SampleToken, TemperatureOne_DrawsByProbability) {
  EXPECT_EQ(shares(settings(1, 0, 1)), (std::array{100, 400, 200, 300}));
}

TEST(SampleToken, Temperature_SharpensAndFlattens) {
  // p^2 and p^(1/2), normalised.
  const auto sharp = shares(settings(0.5, 0, 1)), flat = shares(settings(2, 0, 1));
  EXPECT_NEAR(sharp[1], 1000 * 0.16 / 0.30, 1);
  EXPECT_NEAR(sharp[0], 1000 * 0.01 / 0.30, 1);
  const double sum = std::sqrt(0.1) + std::sqrt(0.2) + std::sqrt(0.3) + std::sqrt(0.4);
  EXPECT_NEAR(flat[1], 1000 * std::sqrt(0.4) / sum, 1);
  EXPECT_NEAR(flat[0], 1000 * std::sqrt(0.1) / sum, 1);
}

TEST(SampleToken, TopK_KeepsTheLikeliest) {
  const auto counts = shares(settings(1, 2, 1));
  EXPECT_EQ(counts[0] + counts[2], 0);
  EXPECT_NEAR(counts[1], 1000 * 4 / 7.0, 1);
  EXPECT_EQ(shares(settings(1, 100, 1)), shares(settings(1, 0, 1)));
}

TEST(SampleToken, TopP_KeepsTheFewestThatHoldIt) {
  const auto counts = shares(settings(1, 0, 0.65));  // 0.4 + 0.3
  EXPECT_EQ(counts[0] + counts[2], 0);
  EXPECT_NEAR(counts[3], 1000 * 3 / 7.0, 1);
  EXPECT_EQ(shares(settings(1, 0, 0))[1], 1000) << "top_p 0 keeps one token";
}

TEST(SampleToken, TopP_CountsAmongTheTopK) {
  // Of ids 1 and 3, the first holds 4/7 = 0.57 already.
  EXPECT_EQ(shares(settings(1, 2, 0.55))[1], 1000);
}

TEST(SampleToken, HugeAndEqualLogits_StayInRange) {
  EXPECT_EQ(sample_token(std::vector<float>{-1e30f, 1e30f, 0}, settings(1, 0, 1), 0.999), 1);
  EXPECT_EQ(sample_token(std::vector<float>(8, 0.0f), settings(1, 0, 1), 0.999999999), 7);
  EXPECT_EQ(sample_token(std::vector<float>{5}, settings(1, 0, 1), 0.3), 0);
}

class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest()
      : backend_(make_cpu_backend()),
        model_(*backend_, testing::small_config(), options()),
        generator_(model_.program(), model_.executable(), 61) {
    model_.randomise_weights(20261206);
  }
  static testing::ModelOptions options() {
    testing::ModelOptions options;
    options.build.train = options.build.evaluate = false;
    options.build.generate = true;
    return options;
  }

  std::unique_ptr<Backend> backend_;
  testing::TestModel model_;
  Generator generator_;
};

TEST_F(GeneratorTest, Greedy_TakesEachPrefillsLikeliest) {
  std::vector<int32_t> ids = {7, 3, 9};
  const auto made = generator_.generate(ids, 8, -1, settings(0, 0, 1));
  ASSERT_EQ(made.size(), 8u);
  for (const int32_t id : made) {
    const auto logits = model_.prefill(ids);
    EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), id);
    ids.push_back(id);
  }
}

TEST_F(GeneratorTest, SameSeed_SameIds) {
  SamplingSettings how = settings(1, 0, 1);
  const auto first = generator_.generate({1, 2}, 12, -1, how);
  EXPECT_EQ(generator_.generate({1, 2}, 12, -1, how), first);
  how.seed = 2;
  EXPECT_NE(generator_.generate({1, 2}, 12, -1, how), first);
}

TEST_F(GeneratorTest, EndId_EndsBehindIt) {
  const auto all = generator_.generate({1, 2}, 10, -1, settings(1, 0, 1));
  const int32_t end = all[4];
  const auto until = generator_.generate({1, 2}, 10, end, settings(1, 0, 1));
  EXPECT_EQ(until.back(), end);
  EXPECT_LE(until.size(), 5u);
  EXPECT_TRUE(std::equal(until.begin(), until.end(), all.begin()));
}

TEST_F(GeneratorTest, FullContext_GoesOnFromItsLastHalf) {
  std::vector<int32_t> ids(16, 5);  // the whole context
  const auto made = generator_.generate(ids, 3, -1, settings(0, 0, 1));
  ASSERT_EQ(made.size(), 3u);
  ids.push_back(made[0]);
  const auto logits = model_.prefill({ids.end() - 8, ids.end()});
  EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), made[1]);
  EXPECT_EQ(generator_.generate({1}, 100, -1, settings(1, 0, 1)).size(), 100u) << "longer than any context";
}

TEST_F(GeneratorTest, PromptLongerThanContext_UsesItsEnd) {
  std::vector<int32_t> prompt(40, 1);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i);
  const std::vector<int32_t> end(prompt.end() - 16, prompt.end());
  EXPECT_EQ(generator_.generate(prompt, 1, -1, settings(0, 0, 1)),
            generator_.generate(end, 1, -1, settings(0, 0, 1)));
}

TEST_F(GeneratorTest, CallbackThatRefuses_Ends) {
  int calls = 0;
  const auto made = generator_.generate({1}, 10, -1, settings(1, 0, 1), [&](int32_t) { return ++calls < 3; });
  EXPECT_EQ(made.size(), 3u);
}

TEST_F(GeneratorTest, BadPrompt_IsRefused) {
  EXPECT_THROW(generator_.generate({}, 1, -1, {}), Error);
  EXPECT_THROW(generator_.generate({61}, 1, -1, {}), Error);  // vocabulary padding
  EXPECT_THROW(generator_.generate({-1}, 1, -1, {}), Error);
  EXPECT_TRUE(generator_.generate({1}, 0, -1, {}).empty());
}

}  // namespace
}  // namespace lathe
