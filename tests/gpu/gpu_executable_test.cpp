// A prepared program on the GPU: the same bits however it is run, and failures that are answers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "kernels/api/error.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/small_run.h"

namespace lathe::test {

namespace {

constexpr int kUpdates = 3;

std::vector<std::byte> trained(const RunConfig& config, const PrepareOptions& options = {},
                               uint64_t plan_seed = 0) {
  return SmallRun(*gpu().backend, config, options, plan_seed).train(kUpdates);
}

float loss_of(const std::vector<std::byte>& run, int update) {
  float loss = 0;
  std::memcpy(&loss, run.data() + update * 24, sizeof loss);
  return loss;
}

TEST(GpuExecutable, Training_RandomTokens_LossIsLogVocabAtFirst) {
  LATHE_NEEDS_GPU();
  const std::vector<std::byte> run = trained(small_config());
  const float counted = 2 * (2 * 128 - 1);
  EXPECT_NEAR(loss_of(run, 0) / counted, std::log(500.0f), 0.1);
}

TEST(GpuExecutable, TwoRuns_SameSeed_SameBits) {
  LATHE_NEEDS_GPU();
  EXPECT_EQ(trained(small_config()), trained(small_config()));
}

TEST(GpuExecutable, Graphs_OffAndOn_SameBits) {
  LATHE_NEEDS_GPU();
  PrepareOptions direct;
  direct.graphs = false;
  EXPECT_EQ(trained(small_config()), trained(small_config(), direct));
}

TEST(GpuExecutable, ShuffledLayout_PoisonedArena_SameBits) {
  LATHE_NEEDS_GPU();
  PrepareOptions poisoned;
  poisoned.poison = true;
  EXPECT_EQ(trained(small_config()), trained(small_config(), poisoned, 99));
}

TEST(GpuExecutable, Recompute_EveryLevel_SameBits) {
  LATHE_NEEDS_GPU();
  RunConfig config = small_config();
  config.memory.recompute.levels = {RecomputeLevel::None};
  const std::vector<std::byte> expected = trained(config);
  for (const RecomputeLevel level : {RecomputeLevel::Norms, RecomputeLevel::GateUp, RecomputeLevel::Qkv,
                                     RecomputeLevel::AttentionFfn, RecomputeLevel::Block}) {
    config.memory.recompute.levels = {level};
    EXPECT_EQ(trained(config), expected) << "level " << static_cast<int>(level);
  }
}

TEST(GpuExecutable, DocumentMask_TwoRuns_SameBitsAndOtherThanWithout) {
  LATHE_NEEDS_GPU();
  RunConfig config = small_config();
  config.attention.document_mask = true;
  const std::vector<std::byte> masked = trained(config);
  EXPECT_EQ(masked, trained(config));
  EXPECT_NE(masked, trained(small_config()));
}

TEST(GpuExecutable, RecordedKernels_GivenAgain_SameText) {
  LATHE_NEEDS_GPU();
  SmallRun first(*gpu().backend, small_config(), {});
  PrepareOptions options;
  options.kernel_selection = first.executable().kernel_selection();
  SmallRun second(*gpu().backend, small_config(), options);
  EXPECT_EQ(second.executable().kernel_selection(), options.kernel_selection);
  EXPECT_GT(options.kernel_selection.size(), 200u);
}

TEST(GpuExecutable, RecordedKernels_NotJson_AnError) {
  LATHE_NEEDS_GPU();
  PrepareOptions options;
  options.kernel_selection = "{\"fingerprint\":";
  EXPECT_THROW(SmallRun(*gpu().backend, small_config(), options), Error);
}

TEST(GpuExecutable, Profile_InPlaceOfARun_SameBits) {
  LATHE_NEEDS_GPU();
  SmallRun plain(*gpu().backend, small_config(), {}), profiled(*gpu().backend, small_config(), {});
  plain.train(1);
  profiled.train(1);
  plain.executable().run(SequenceId::MicroRest);
  const std::vector<double> times = profiled.executable().profile(SequenceId::MicroRest);
  EXPECT_EQ(times.size(), plain.program().sequence(SequenceId::MicroRest).ops.size());
  for (const double milliseconds : times) EXPECT_GE(milliseconds, 0);
  for (const ParameterGroup& group : plain.program().groups) {
    std::vector<std::byte> a(static_cast<size_t>(plain.program().tensor(group.gradient).bytes())),
        b(a.size());
    plain.executable().read(group.gradient, a);
    profiled.executable().read(group.gradient, b);
    EXPECT_EQ(a, b) << group.name;
  }
}

TEST(GpuExecutable, SkipFlag_NonFiniteLoss_LeavesWeightsUntouched) {
  LATHE_NEEDS_GPU();
  SmallRun run(*gpu().backend, small_config(), {});
  run.train(1);
  const ParameterGroup& group = run.program().groups.front();
  std::vector<std::byte> before(static_cast<size_t>(run.program().tensor(group.weight).bytes())),
      after(before.size());
  run.executable().read(group.weight, before);
  const std::vector<float> infinite{INFINITY, 0.0f};
  run.executable().write(run.program().ports.loss_sums, std::as_bytes(std::span(infinite)));
  run.executable().run(SequenceId::Update);
  run.executable().read(group.weight, after);
  EXPECT_EQ(before, after);
}

TEST(GpuExecutable, Tickets_ManyRuns_AreHandedOutOnce) {
  LATHE_NEEDS_GPU();
  SmallRun run(*gpu().backend, small_config(), {});
  const std::vector<TensorId> fetch{run.program().ports.loss_sums};
  std::vector<Ticket> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(run.executable().run(SequenceId::MicroFirst, fetch));
  std::vector<std::byte> fetched(8);
  for (const Ticket ticket : tickets) run.executable().wait(ticket, fetched);
  EXPECT_TRUE(run.executable().finished(tickets.back()));
  EXPECT_THROW(run.executable().wait(tickets.back(), fetched), Error);
  EXPECT_THROW(run.executable().wait(tickets.back() + 1), Error);
}

TEST(GpuExecutable, ArenaLargerThanTheGpu_OutOfMemoryInWords) {
  LATHE_NEEDS_GPU();
  StepProgram program;
  MemoryPlan plan;
  plan.arena_bytes = gpu().backend->device().total_bytes * 2;
  try {
    gpu().backend->prepare(program, plan, {});
    FAIL() << "an arena of twice the GPU's memory was allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    EXPECT_NE(error.what_happened().find("MiB"), std::string::npos);
    EXPECT_FALSE(error.what_to_do().empty());
  }
  EXPECT_NO_THROW(trained(small_config()));  // the process goes on
}

// A token far outside the vocabulary makes the embedding read memory that isn't there: a fault that no
// context survives. Exits with 0 when every call after it is answered with an Error.
[[noreturn]] void fail_for_good() {
  SmallRun run(*gpu().backend, small_config(), {});
  Executable& executable = run.executable();
  const TensorId tokens = run.program().ports.tokens;
  const std::vector<int32_t> wild(static_cast<size_t>(run.program().tensor(tokens).elements()), 0x7fffffff);
  int answers = 0;
  const auto answered = [&](auto&& call, const char* text) {
    try {
      call();
      std::fprintf(stderr, "no error: %s\n", text);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n%s\n", error.what_happened().c_str(), error.what_to_do().c_str());
      answers += error.code() == ErrorCode::Backend && error.what_happened().find(text) != std::string::npos;
    }
  };
  executable.write(tokens, std::as_bytes(std::span(wild)));
  answered([&] { executable.wait(executable.run(SequenceId::MicroFirst)); }, "illegal memory access");
  answers += executable.poisoned();
  answered([&] { executable.run(SequenceId::Update); }, "failed earlier in this run");
  answered([&] { trained(small_config()); }, "illegal memory access");
  std::_Exit(answers == 4 ? 0 : 1);
}

TEST(GpuExecutableDeathTest, StickyFault_MarksTheRunPoisonedAndTheProcessLives) {
  LATHE_NEEDS_GPU();
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own: this one goes on
  EXPECT_EXIT(fail_for_good(), ::testing::ExitedWithCode(0), "resumes from the last checkpoint");
}

TEST(GpuExecutable, Memory_AfterPrepare_ArenaIsThePlansAndOverheadIsPlausible) {
  LATHE_NEEDS_GPU();
  SmallRun run(*gpu().backend, small_config(), {});
  const MemoryReport report = run.executable().memory();
  if (report.process_bytes == 0) GTEST_SKIP() << "*** the system reports no process memory";
  EXPECT_EQ(report.overhead_bytes, report.process_bytes - report.arena_bytes);
  EXPECT_GT(report.overhead_bytes, int64_t{50} << 20);
  EXPECT_LT(report.overhead_bytes, int64_t{4} << 30);
}

}  // namespace

}  // namespace lathe::test
