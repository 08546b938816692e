// The planner, the cost model and calibrations: what fits, what wins, and what is never carried to another
// card.
#include "core/program/planner.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/config/presets.h"
#include "core/platform/files.h"
#include "core/program/program_builder.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

RunConfig small_memory_977m() {
  RunConfig config = load_preset("977m");
  config.optimizer.state = State::Int8;
  config.precision.master = Master::Split;
  config.memory.recompute.automatic = true;
  config.memory.loss_chunk_tokens.automatic = true;
  return config;
}

PlannerRequest request_for(const CostModel& costs, int64_t budget) {
  PlannerRequest request;
  request.estimate.target = {DeviceKind::Cuda, 120, true};
  request.estimate.budget_bytes = budget;
  request.costs = &costs;
  return request;
}

TEST(Planner, FallingBudgets_FitAndSlowDown) {
  const CostModel costs(&match_gpu("RTX 5080"), {});
  double last = 1e12;
  for (const int64_t budget : {24 * kGiB, 15 * kGiB, 14 * kGiB}) {
    const PlannerResult result = plan_configuration(small_memory_977m(), request_for(costs, budget));
    const PlannedConfig& winner = result.ranked.front();
    EXPECT_LE(winner.estimate.process_bytes(), budget);
    EXPECT_LE(winner.tokens_per_s, last * 1.0001) << winner.words;
    EXPECT_FALSE(winner.config.memory.recompute.automatic);
    for (const PlannedConfig& other : result.ranked)
      EXPECT_LE(other.tokens_per_s, winner.tokens_per_s * 1.0001);
    last = winner.tokens_per_s;
  }
}

TEST(Planner, OneRungLessRecompute_DoesNotFit) {
  const CostModel costs(&match_gpu("RTX 5080"), {});
  const int64_t budget = 13 * kGiB;
  const PlannerResult result = plan_configuration(small_memory_977m(), request_for(costs, budget));
  ASSERT_GT(result.next_budget_bytes, 0);
  EXPECT_GT(result.next_budget_bytes, budget);
  EXPECT_GE(result.next_tokens_per_s, result.ranked.front().tokens_per_s);
}

TEST(Planner, ImpossibleBudget_SaysWhatItWouldNeed) {
  const CostModel costs(&match_gpu("RTX 5080"), {});
  try {
    plan_configuration(small_memory_977m(), request_for(costs, 6 * kGiB));
    FAIL() << "6 GiB can't hold the weights and states";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_NE(error.what_happened().find("needs"), std::string::npos);
    EXPECT_FALSE(error.what_to_do().empty());
  }
}

TEST(Planner, MicroBatchVaried_KeepsTokensAnUpdate) {
  const CostModel costs(&match_gpu("H200"), {});
  PlannerRequest request = request_for(costs, 100 * kGiB);
  request.vary_micro_batch = true;
  const PlannerResult result = plan_configuration(small_memory_977m(), request);
  for (const PlannedConfig& planned : result.ranked) EXPECT_EQ(planned.estimate.tokens_per_update, 65536);
  EXPECT_GT(result.ranked.size(), 3u);
}

TEST(Planner, StatedSettings_AreKept) {
  RunConfig config = small_memory_977m();
  config.memory.recompute = {false, {RecomputeLevel::Qkv}};
  config.memory.loss_chunk_tokens = {false, 2048};
  const CostModel costs(&match_gpu("RTX 5080"), {});
  const PlannerResult result = plan_configuration(config, request_for(costs, 15 * kGiB));
  ASSERT_EQ(result.ranked.size(), 1u);
  EXPECT_EQ(result.ranked.front().config.memory.recompute, config.memory.recompute);
  EXPECT_EQ(result.ranked.front().config.memory.loss_chunk_tokens, config.memory.loss_chunk_tokens);
}

TEST(Planner, Suggestions_SaveWhatTheySay) {
  const RunConfig config = load_preset("977m");
  RunConfig resolved = config;
  resolved.memory.loss_chunk_tokens = {false, 1024};
  const auto suggestions = suggest_changes(resolved, {{DeviceKind::Cuda, 90, true}});
  ASSERT_GE(suggestions.size(), 3u);
  for (size_t i = 1; i < suggestions.size(); ++i) {
    EXPECT_GE(suggestions[i - 1].saved_bytes, suggestions[i].saved_bytes);
  }
  // 8-bit moments: 6 of 8 bytes for the 919,339,008 parameters of the blocks, less the scales.
  const auto it =
      std::find_if(suggestions.begin(), suggestions.end(), [](const auto& s) { return s.value == "8bit"; });
  ASSERT_NE(it, suggestions.end());
  EXPECT_NEAR(static_cast<double>(it->saved_bytes), 6.0 * 919339008 - 919339008.0 / 256 * 8,
              0.01 * 6 * 919339008);
}

TEST(Planner, RecomputeWords_CountLayers) {
  EXPECT_EQ(recompute_words({RecomputeLevel::Norms}, 24), "all 24 layers recompute norms and SwiGLU");
  std::vector<RecomputeLevel> levels(18, RecomputeLevel::None);
  levels.insert(levels.end(), 6, RecomputeLevel::GateUp);
  EXPECT_EQ(recompute_words(levels, 24), "18 layers keep everything, 6 recompute gate/up");
}

TEST(CostModel, TimedShapes_ComeFromTheCalibration) {
  RunConfig config = load_preset("125m");
  config.memory.loss_chunk_tokens = {false, 0};
  const StepProgram program =
      build_step_program(config, training_options(config, {DeviceKind::Cuda, 90, true}));
  Calibration calibration;
  for (const Op& op : program.sequence(SequenceId::MicroRest).ops) calibration.add(program, op, 2.0);
  calibration.step_factor = 0.5;
  const CostModel costs(&match_gpu("H200"), calibration);
  const double ops = static_cast<double>(program.sequence(SequenceId::MicroRest).ops.size());
  EXPECT_NEAR(costs.sequence_seconds(program, SequenceId::MicroRest), ops * 0.002 * 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(costs.timed_share(program), 1);
}

TEST(CostModel, EveryLayer_SharesItsKeys) {
  RunConfig config = load_preset("125m");
  config.memory.loss_chunk_tokens = {false, 0};
  const StepProgram program =
      build_step_program(config, training_options(config, {DeviceKind::Cuda, 90, true}));
  std::map<std::string, int> keys;
  for (const Op& op : program.sequence(SequenceId::MicroRest).ops) ++keys[op_key(program, op)];
  EXPECT_LT(keys.size(), 40u);
}

TEST(Calibration, SavedAndLoaded_IsTheSameAndOnlyForItsGpu) {
  const TemporaryFolder home;
  Calibration calibration;
  calibration.gpu = "NVIDIA H200";
  calibration.versions = "driver 1";
  calibration.op_ms = {{"linear a", 0.5}};
  calibration.step_factor = 0.97;
  calibration.overhead_bytes = 123456;
  save_calibration(home.path(), calibration);
  const Calibration loaded = load_calibration(home.path(), "NVIDIA H200", "driver 1");
  EXPECT_EQ(loaded.op_ms, calibration.op_ms);
  EXPECT_EQ(loaded.overhead_bytes, calibration.overhead_bytes);
  EXPECT_TRUE(load_calibration(home.path(), "NVIDIA H200", "driver 2").empty());
  EXPECT_TRUE(load_calibration(home.path(), "NVIDIA GeForce RTX 5080").empty());
  write_file_atomically(calibration_path(home.path(), "NVIDIA H200"), "{ not json");
  EXPECT_TRUE(load_calibration(home.path(), "NVIDIA H200").empty());
}

TEST(GpuTable, NamesPeopleType_FindTheirCard) {
  EXPECT_EQ(match_gpu("5080").name, "GeForce RTX 5080");
  EXPECT_EQ(match_gpu("rtx 5070 ti").name, "GeForce RTX 5070 Ti");
  EXPECT_EQ(match_gpu("h200").name, "H200");
  EXPECT_THROW(match_gpu("rtx"), Error);
  EXPECT_THROW(match_gpu("Voodoo"), Error);
}

}  // namespace
}  // namespace lathe
