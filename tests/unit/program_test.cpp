// The step program and its memory plan: counts, bounds, soundness, over presets and random configurations.
#include <gtest/gtest.h>

#include <chrono>

#include "core/config/derived.h"
#include "core/config/presets.h"
#include "core/config/validate.h"
#include "core/model/parameters.h"
#include "core/program/auto_settings.h"
#include "core/program/estimate.h"
#include "core/program/memory_plan.h"
#include "core/program/program_builder.h"
#include "core/program/program_check.h"
#include "kernels/api/error.h"
#include "tests/support/random_config.h"

namespace lathe {
namespace {

RunConfig resolved_preset(const std::string& name, RecomputeLevel level) {
  RunConfig config = load_preset(name);
  config.memory.recompute = {false, {level}};
  return resolve_auto(config, {});
}

TEST(Parameters, Preset977m_HasExactlyTheReferenceCount) {
  const RunConfig config = load_preset("977m");
  EXPECT_EQ(parameter_count(config), 976'770'816);
  EXPECT_EQ(block_matrix_parameters(config), 919'339'008);
  EXPECT_EQ(padding_count(config), 0);
  // 6·919,339,008 + 6·32000·1792 + 6·24·1792·4096
  EXPECT_DOUBLE_EQ(model_flops_per_token(config),
                   6.0 * 919339008 + 6.0 * 32000 * 1792 + 6.0 * 24 * 1792 * 4096);
}

TEST(Parameters, PaddedVocabulary_IsCountedAndNamed) {
  RunConfig config = testing::small_config();
  config.model.vocab = 61;
  config.model.vocab_pad = 8;
  EXPECT_EQ(padding_count(config), 3 * 32);
}

TEST(Plan, EveryPresetAndLevel_StaysWithinTwoPercentOfLowerBound) {
  for (const PresetInfo& preset : list_presets()) {
    for (int level = 0; level <= 5; ++level) {
      const RunConfig config = resolved_preset(preset.name, static_cast<RecomputeLevel>(level));
      for (const DeviceKind kind : {DeviceKind::Cpu, DeviceKind::Cuda}) {
        const ExecutionTarget target{kind, kind == DeviceKind::Cuda ? 90 : 0, true};
        const StepProgram program = build_step_program(config, training_options(config, target));
        const MemoryPlan plan = plan_memory(program);
        const int64_t bound = lower_bound_bytes(program);
        EXPECT_GE(plan.arena_bytes, bound);
        EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.02 * static_cast<double>(bound))
            << preset.name << " level " << level;
        EXPECT_TRUE(check_plan(program, plan).empty());
      }
    }
  }
}

TEST(Plan, SavedBytesPerTokenAndLayer_FollowTheFormula) {
  // Bytes of activations that live from a layer's forward to its backward, BF16, besides statistics:
  // none 16C+6F, norms 12C+4F, gate_up 12C, qkv 6C, attention_ffn 4C, block 2C (heads·D = C, no GQA).
  const int64_t factor_c[] = {16, 12, 12, 6, 4, 2}, factor_f[] = {6, 4, 0, 0, 0, 0};
  const int64_t statistics[] = {1, 1, 1, 1, 2, 0};  // 4H+8; without logsumexp 8; none
  for (int level = 0; level <= 5; ++level) {
    RunConfig config = resolved_preset("977m", static_cast<RecomputeLevel>(level));
    const StepProgram program =
        build_step_program(config, training_options(config, {DeviceKind::Cuda, 90, true}));
    int64_t layer_bytes = 0;
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role == Role::Activation && buffer.layer == 7 && buffer.sequence == 0)
        layer_bytes += buffer.bytes;
    }
    const int64_t c = 1792, f = 4736, tokens = 4096;
    const int64_t stats = statistics[level] == 1 ? 4 * 16 + 8 : statistics[level] == 2 ? 8 : 0;
    EXPECT_EQ(layer_bytes, tokens * (factor_c[level] * c + factor_f[level] * f + stats)) << "level " << level;
  }
}

TEST(Program, RandomConfigurations_AreSoundAndCountEveryParameter) {
  const uint64_t seed = 20261201;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    const RunConfig config = testing::random_config(random);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", configuration " << i);
    ASSERT_TRUE(validate(config).empty()) << validate(config).front().message;
    const ExecutionTarget target{i % 2 == 0 ? DeviceKind::Cpu : DeviceKind::Cuda, 90, true};
    const StepProgram program = build_step_program(config, training_options(config, target));
    const auto findings = check_program(program);
    EXPECT_TRUE(findings.empty()) << findings.front();
    int64_t elements = 0;
    for (const Parameter& parameter : program.parameters) elements += parameter.elements();
    EXPECT_EQ(elements, parameter_count(config));
    for (const uint64_t shuffle : {uint64_t{0}, uint64_t{7}}) {
      const MemoryPlan plan = plan_memory(program, shuffle);
      const auto overlaps = check_plan(program, plan);
      EXPECT_TRUE(overlaps.empty()) << overlaps.front();
    }
  }
}

TEST(Program, BrokenProgram_IsFound) {
  const RunConfig config = testing::small_config();
  StepProgram program = build_step_program(config, training_options(config, {}));
  auto& ops = program.sequence(SequenceId::MicroFirst).ops;
  ASSERT_TRUE(check_program(program).empty());
  std::swap(ops[1], ops[2]);
  EXPECT_FALSE(check_program(program).empty());
}

TEST(Plan, OverlappingPlan_IsFound) {
  const RunConfig config = testing::small_config();
  const StepProgram program = build_step_program(config, training_options(config, {}));
  MemoryPlan plan = plan_memory(program);
  ASSERT_TRUE(check_plan(program, plan).empty());
  plan.offsets[1] = plan.offsets[0];
  EXPECT_FALSE(check_plan(program, plan).empty());
}

TEST(Estimate, RolesAtThePeak_SumToThePeak) {
  const RunConfig config = load_preset("977m");
  const Estimate result = estimate(config, {{DeviceKind::Cuda, 90, true}, int64_t{15} << 30, -1});
  int64_t sum = 0;
  for (const int64_t bytes : result.role_bytes) sum += bytes;
  EXPECT_EQ(sum, result.peak.bytes);
  EXPECT_EQ(result.arena_bytes, result.peak.bytes + result.fragmentation_bytes);
  EXPECT_EQ(result.parameters, 976'770'816);
  EXPECT_EQ(result.tokens_per_update, 65536);
}

TEST(Estimate, LargestPreset_AnswersInFiftyMilliseconds) {
  const RunConfig config = load_preset("977m");
  double best_ms = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    estimate(config, {{DeviceKind::Cuda, 90, true}, 0, -1});
    best_ms = std::min(
        best_ms, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("milliseconds", std::to_string(best_ms));
  EXPECT_LT(best_ms, 50);
}

TEST(Estimate, AutomaticRecompute_TakesTheLowestLevelThatFits) {
  RunConfig config = load_preset("977m");
  config.memory.recompute.automatic = true;
  const EstimateRequest request{{DeviceKind::Cuda, 90, true}, int64_t{24} << 30, -1};
  EXPECT_EQ(resolve_auto(config, request).memory.recompute.levels.front(), RecomputeLevel::None);
  EXPECT_THROW(resolve_auto(config, {{DeviceKind::Cuda, 90, true}, int64_t{1} << 30, -1}), Error);
}

}  // namespace
}  // namespace lathe
