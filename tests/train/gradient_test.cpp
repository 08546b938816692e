// Whole-model gradients against central finite differences of fourth order, all in FP64: for every tensor the
// slope along its own gradient and along four random directions. The loss comes from the forward-only
// evaluation program, the gradients from two micro-steps of the training program, so both are proven at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/elements.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace lathe::testing {
namespace {

constexpr uint64_t kSeed = 20261202;
constexpr double kTolerance = 1e-8;  // of the gradient's norm
// Along a unit direction. Truncation is h⁴/30 times the fifth derivative, rounding about 1e-15/h: both some
// orders below the tolerance for weights of this size.
constexpr double kStep = 1e-3;
constexpr int kRandomDirections = 4;

struct Variant {
  std::string name;
  std::function<void(RunConfig&)> change;
};

RunConfig variant_config(const Variant& variant) {
  RunConfig config = small_config();
  config.model.hidden = 24;
  config.model.kv_heads = 2;
  config.model.head_dim = 6;
  config.model.ffn = 40;
  config.model.vocab = 37;
  config.model.context = 12;
  variant.change(config);
  return config;
}

// Mean loss of the window's counted tokens, z-loss included.
double window_loss(TestModel& model, const std::vector<Batch>& window) {
  double sum = 0;
  for (const Batch& batch : window) sum += model.evaluate(batch).total();
  return sum / static_cast<double>(valid_tokens(window));
}

// Slope of the loss where `weights` of the named tensor move along a unit direction.
double slope(TestModel& model, const std::vector<Batch>& window, const std::string& name,
             const std::vector<double>& weights, const std::vector<double>& direction) {
  const auto loss_at = [&](double distance) {
    std::vector<double> moved = weights;
    for (size_t i = 0; i < moved.size(); ++i) moved[i] += distance * direction[i];
    model.set_weight(name, moved);
    return window_loss(model, window);
  };
  const double near = loss_at(kStep) - loss_at(-kStep), far = loss_at(2 * kStep) - loss_at(-2 * kStep);
  model.set_weight(name, weights);
  return (8 * near - far) / (12 * kStep);
}

void scale_to_unit(std::vector<double>& direction) {
  const double length = norm(direction);
  for (double& value : direction) value /= length;
}

// The largest error over the directions, relative to the gradient's norm.
double gradient_error(TestModel& model, const std::vector<Batch>& window, const std::string& name,
                      const std::vector<double>& gradient, uint64_t seed) {
  const std::vector<double> weights = model.weight(name);
  const double length = norm(gradient);
  test::RandomValues random(seed);
  double worst = 0;
  for (int d = 0; d <= kRandomDirections; ++d) {
    std::vector<double> direction = d == 0 ? gradient : random.normal(static_cast<int64_t>(gradient.size()));
    scale_to_unit(direction);
    double expected = 0;
    for (size_t i = 0; i < gradient.size(); ++i) expected += gradient[i] * direction[i];
    const double measured = slope(model, window, name, weights, direction);
    worst = std::max(worst, std::abs(measured - expected) / length);
  }
  return worst;
}

std::vector<Batch> random_window(const RunConfig& config) {
  // Uneven valid counts: a mean over micro-steps instead of tokens would show.
  return {random_batch(config, kSeed, 0.1), random_batch(config, kSeed + 1, 0.6)};
}

TestModel fp64_model(Backend& backend, const RunConfig& config) {
  ModelOptions options;
  options.build.fp64 = true;
  options.prepare.threads = 1;
  TestModel model(backend, config, options);
  model.randomise_weights(kSeed);
  return model;
}

class Gradient : public ::testing::TestWithParam<Variant> {};

TEST_P(Gradient, EveryTensor_MatchesFiniteDifferences) {
  const RunConfig config = variant_config(GetParam());
  const auto backend = make_cpu_backend();
  TestModel model = fp64_model(*backend, config);
  const std::vector<Batch> window = random_window(config);
  model.accumulate(window);

  // Training and evaluation agree on the loss before their slopes are compared.
  const double mean = model.window_loss().total() / static_cast<double>(valid_tokens(window));
  EXPECT_NEAR(mean, window_loss(model, window), 1e-13 * mean) << "seed " << kSeed;

  std::vector<std::vector<double>> gradients;
  for (const Parameter& parameter : model.program().parameters) {
    gradients.push_back(model.gradient(parameter.name));
  }
  double worst = 0;
  for (size_t p = 0; p < gradients.size(); ++p) {
    const std::string& name = model.program().parameters[p].name;
    ASSERT_GT(norm(gradients[p]), 1e-6) << name << ", seed " << kSeed;
    const double error = gradient_error(model, window, name, gradients[p], kSeed + p);
    EXPECT_LE(error, kTolerance) << name << ", seed " << kSeed;
    worst = std::max(worst, error);
  }
  RecordProperty("worst_error", fmt::format("{:.2e}", worst));
}

std::vector<Variant> variants() {
  std::vector<Variant> list = {
      {"Plain", [](RunConfig& c) { c.model.kv_heads = 0; }},
      {"GroupedQueries", [](RunConfig&) {}},
      {"Untied", [](RunConfig& c) { c.model.tied_embeddings = false; }},
      {"QkNorm", [](RunConfig& c) { c.model.qk_norm = true; }},
      {"DocumentMask", [](RunConfig& c) { c.attention.document_mask = true; }},
      {"ZLoss", [](RunConfig& c) { c.loss.z_loss = 1e-2; }},
      {"LossChunks",
       [](RunConfig& c) {
         c.memory.loss_chunk_tokens = {false, 7};
       }},
      {"ManyAttentionBlocks",  // longer than the tiles in which keys and queries are visited
       [](RunConfig& c) {
         c.model.context = 150;
         c.model.layers = 1;
         c.attention.document_mask = true;
       }},
  };
  // Every level with everything else switched on, and all levels in one model.
  const auto everything = [](RunConfig& c) {
    c.model.qk_norm = c.attention.document_mask = true;
    c.model.tied_embeddings = false;
    c.loss.z_loss = 1e-2;
    c.memory.loss_chunk_tokens = {false, 10};
  };
  const auto names = choice_names(RecomputeLevel{});
  for (size_t level = 0; level < names.size(); ++level) {
    const auto plain = static_cast<RecomputeLevel>(level);
    std::string name(names[level]);
    std::erase(name, '_');
    list.push_back({"recompute_" + name, [=](RunConfig& c) { c.memory.recompute.levels = {plain}; }});
    list.push_back({"everything_" + name, [=](RunConfig& c) {
                      everything(c);
                      c.memory.recompute.levels = {plain};
                    }});
  }
  list.push_back({"MixedLevels", [=](RunConfig& c) {
                    everything(c);
                    c.model.layers = 3;
                    c.memory.recompute.levels = {RecomputeLevel::Block, RecomputeLevel::GateUp,
                                                 RecomputeLevel::AttentionFfn};
                  }});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Variants, Gradient, ::testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

TEST(GradientCheck, SlightlyWrongGradient_IsFound) {
  const RunConfig config = variant_config({"", [](RunConfig&) {}});
  const auto backend = make_cpu_backend();
  TestModel model = fp64_model(*backend, config);
  const std::vector<Batch> window = random_window(config);
  model.accumulate(window);
  const std::string name = "layer.0.attn.qkv.weight";
  std::vector<double> gradient = model.gradient(name);
  EXPECT_LE(gradient_error(model, window, name, gradient, kSeed), kTolerance);
  const double slight = 1e-6 * norm(gradient);
  gradient.front() += slight;
  EXPECT_GT(gradient_error(model, window, name, gradient, kSeed), kTolerance);
}

}  // namespace
}  // namespace lathe::testing
