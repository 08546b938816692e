// Lathe against PyTorch's own numbers (tests/golden/make_goldens.py): the loss and every gradient of a window
// of four micro-steps with uneven counts of valid tokens, and ten AdamW updates with clipping. PyTorch
// computed in FP64, Lathe computes in FP32.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/config/config_json.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/model_fixture.h"
#include "tests/train/golden_file.h"

namespace lathe::testing {
namespace {

constexpr double kLossTolerance = 1e-5;   // absolute, of a mean loss around 4
constexpr double kLeastCosine = 0.99999;  // of each gradient
constexpr double kWeightTolerance = 1e-4;  // ‖ours - theirs‖ / ‖theirs‖ of each tensor after ten updates

// All batches of the golden, by update and micro-step.
std::vector<std::vector<Batch>> batches_of(const GoldenFile& golden) {
  const auto shape = golden.shape("tokens");  // [updates, accumulation, micro-batch, context]
  const auto ids = [&](const char* name) {
    const std::vector<double> values = golden.values(name);
    return std::vector<int32_t>(values.begin(), values.end());
  };
  const auto tokens = ids("tokens"), targets = ids("targets"), starts = ids("document_start");
  const int64_t positions = shape[2] * shape[3];
  std::vector<std::vector<Batch>> updates(static_cast<size_t>(shape[0]));
  int64_t at = 0;
  for (auto& window : updates) {
    for (int64_t step = 0; step < shape[1]; ++step, at += positions) {
      const auto part = [&](const std::vector<int32_t>& all) {
        return std::vector<int32_t>(all.begin() + at, all.begin() + at + positions);
      };
      Batch batch{part(tokens), part(targets), part(starts), 0};
      batch.valid_tokens = positions - std::count(batch.targets.begin(), batch.targets.end(), -1);
      window.push_back(std::move(batch));
    }
  }
  return updates;
}

class Golden : public ::testing::TestWithParam<const char*> {
 protected:
  Golden()
      : golden_(std::filesystem::path(LATHE_SOURCE_DIR) / "tests/golden" /
                fmt::format("{}.safetensors", GetParam())),
        config_(from_json_text(golden_.metadata("settings"), start_settings())),
        backend_(make_cpu_backend()),
        model_(*backend_, config_) {
    for (const Parameter& parameter : model_.program().parameters) {
      model_.set_weight(parameter.name, golden_.values("weight." + parameter.name));
    }
  }

  // What the recipe has no word for, since PyTorch has no such thing.
  static RunConfig start_settings() {
    RunConfig config;
    config.memory.recompute.levels = {RecomputeLevel::Norms};
    config.memory.loss_chunk_tokens = {false, 0};
    return config;
  }

  double mean_loss(const std::vector<Batch>& window) {
    return model_.window_loss().loss / static_cast<double>(valid_tokens(window));
  }

  GoldenFile golden_;
  RunConfig config_;
  std::unique_ptr<Backend> backend_;
  TestModel model_;
};

TEST_P(Golden, FirstWindow_LossAndGradients_EqualPyTorch) {
  const std::vector<Batch> window = batches_of(golden_).front();
  std::set<int64_t> counts;
  for (const Batch& batch : window) counts.insert(batch.valid_tokens);
  ASSERT_GT(counts.size(), 2u) << "the valid counts aren't uneven";

  model_.accumulate(window);
  EXPECT_NEAR(mean_loss(window), golden_.values("loss").front(), kLossTolerance);
  double lowest = 1, farthest = 0;
  for (const Parameter& parameter : model_.program().parameters) {
    const auto ours = model_.gradient(parameter.name), theirs = golden_.values("gradient." + parameter.name);
    EXPECT_GE(cosine(ours, theirs), kLeastCosine) << parameter.name;
    // A cosine doesn't see a factor.
    EXPECT_LE(relative_difference(ours, theirs), 1e-5) << parameter.name;
    lowest = std::min(lowest, cosine(ours, theirs));
    farthest = std::max(farthest, relative_difference(ours, theirs));
  }
  RecordProperty("lowest_cosine", fmt::format("1-{:.1e}", 1 - lowest));
  RecordProperty("largest_difference", fmt::format("{:.1e}", farthest));
}

TEST_P(Golden, TenUpdates_LossesNormsAndWeights_EqualPyTorch) {
  const auto updates = batches_of(golden_);
  const auto losses = golden_.values("loss"), norms = golden_.values("gradient_norm");
  const auto rates = golden_.values("learning_rate");
  ASSERT_EQ(updates.size(), 10u);
  int clipped = 0;
  for (size_t i = 0; i < updates.size(); ++i) {
    model_.accumulate(updates[i]);
    EXPECT_NEAR(mean_loss(updates[i]), losses[i], kLossTolerance) << "update " << i + 1;
    UpdateScalars scalars;
    scalars.learning_rate = rates[i];
    scalars.optimizer_step = static_cast<int64_t>(i) + 1;
    scalars.valid_tokens = valid_tokens(updates[i]);
    scalars.clip = config_.optimizer.clip;
    model_.update(scalars);
    const auto clip = model_.values(model_.program().ports.clip);
    EXPECT_NEAR(clip[static_cast<size_t>(ClipResult::GradNorm)], norms[i], 1e-5 * norms[i]);
    EXPECT_EQ(clip[static_cast<size_t>(ClipResult::Skip)], 0);
    if (norms[i] > config_.optimizer.clip) ++clipped;
  }
  EXPECT_GT(clipped, 0) << "no update was clipped";
  EXPECT_LT(clipped, 10) << "every update was clipped";

  double farthest = 0, farthest_change = 0;
  for (const Parameter& parameter : model_.program().parameters) {
    const auto ours = model_.weight(parameter.name), theirs = golden_.values("updated." + parameter.name);
    EXPECT_LE(relative_difference(ours, theirs), kWeightTolerance) << parameter.name;
    farthest = std::max(farthest, relative_difference(ours, theirs));
    // The same of what the updates changed: how far a tensor moved doesn't soften this one.
    auto ours_moved = ours, theirs_moved = theirs;
    const auto before = golden_.values("weight." + parameter.name);
    for (size_t i = 0; i < before.size(); ++i) ours_moved[i] -= before[i], theirs_moved[i] -= before[i];
    farthest_change = std::max(farthest_change, relative_difference(ours_moved, theirs_moved));
  }
  EXPECT_LE(farthest_change, kWeightTolerance);
  RecordProperty("largest_difference", fmt::format("{:.1e}", farthest));
  RecordProperty("largest_difference_of_change", fmt::format("{:.1e}", farthest_change));
}

INSTANTIATE_TEST_SUITE_P(Variants, Golden,
                         ::testing::Values("gqa_untied", "tied", "qk_norm_documents_z_loss"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace lathe::testing
