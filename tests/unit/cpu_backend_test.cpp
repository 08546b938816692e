// The CPU backend as an executable: memory, tickets, poison, refusals, bad input; and AdamW's storage
// variants over many updates.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/api/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/elements.h"
#include "tests/support/op_program.h"

namespace lathe::test {
namespace {

constexpr uint64_t kSeed = 20261202;

std::vector<std::byte> encoded(const std::vector<double>& values, DType dtype) {
  const auto size = static_cast<size_t>(dtype_bytes(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) store_element(&bytes[i * size], dtype, values[i]);
  return bytes;
}

// A program with its plan, prepared on the CPU.
struct Prepared {
  explicit Prepared(OpProgram program, PrepareOptions options = {})
      : op(std::move(program)), plan(op.plan()), executable(backend->prepare(op.program, plan, options)) {}

  std::unique_ptr<Backend> backend = make_cpu_backend();
  OpProgram op;
  MemoryPlan plan;
  std::unique_ptr<Executable> executable;

  void write(TensorId id, const std::vector<double>& values) {
    executable->write(id, encoded(values, op.program.tensor(id).dtype));
  }
  std::vector<std::byte> bytes(TensorId id) {
    std::vector<std::byte> result(static_cast<size_t>(op.program.tensor(id).bytes()));
    executable->read(id, result);
    return result;
  }
  std::vector<double> values(TensorId id) {
    const std::vector<std::byte> raw = bytes(id);
    const DType dtype = op.program.tensor(id).dtype;
    std::vector<double> result;
    for (size_t at = 0; at < raw.size(); at += static_cast<size_t>(dtype_bytes(dtype))) {
      result.push_back(load_element(&raw[at], dtype));
    }
    return result;
  }
  Ticket run(std::span<const TensorId> fetch = {}) { return executable->run(OpProgram::kSequence, fetch); }
};

struct GatherProgram : OpProgram {
  GatherProgram() : OpProgram(OpKind::GatherRow) {
    x = add_tensor(DType::F32, {4, 3});
    index = add_tensor(DType::I32, {1});
    y = add_tensor(DType::F32, {1, 3});
    add_operand(x, Access::Read);
    add_operand(index, Access::Read);
    add_operand(y, Access::Write);
  }
  TensorId x, index, y;
};

const std::vector<double> kTable = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

TEST(CpuExecutable, Arena_IsThePlansAndStartsZeroed) {
  const GatherProgram program;
  Prepared p(program);
  EXPECT_EQ(p.executable->memory().arena_bytes, p.plan.arena_bytes);
  EXPECT_EQ(p.values(program.x), std::vector<double>(12, 0.0));
}

TEST(CpuExecutable, Tickets_HandOutWhatWasFetchedThen) {
  const GatherProgram program;
  Prepared p(program);
  p.write(program.x, kTable);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 70; ++i) {
    p.write(program.index, {static_cast<double>(i % 4)});
    const TensorId fetch[] = {program.y, program.index};
    tickets.push_back(p.run(fetch));
    EXPECT_TRUE(p.executable->finished(tickets.back()));
  }
  std::vector<std::byte> fetched(16);
  p.executable->wait(tickets[67], fetched);
  EXPECT_EQ(load_element(&fetched[0], DType::F32), 9);
  EXPECT_EQ(load_element(&fetched[12], DType::I32), 3);
  EXPECT_THROW(p.executable->wait(tickets[67], fetched), Error);  // once only
  EXPECT_THROW(p.executable->wait(tickets[0], fetched), Error);   // too old
  EXPECT_THROW(p.executable->wait(tickets[66], std::span(fetched).first(8)), Error);
  EXPECT_THROW(p.executable->wait(tickets.back() + 1), Error);
  EXPECT_FALSE(p.executable->finished(tickets.back() + 1));
  EXPECT_NO_THROW(p.executable->wait(tickets[0]));
}

TEST(CpuExecutable, PartsOfTensors_AreReadAndWrittenInPlace) {
  const GatherProgram program;
  Prepared p(program);
  p.write(program.x, kTable);
  p.executable->write(program.x, encoded({40, 50}, DType::F32), 16);
  EXPECT_EQ(p.values(program.x), (std::vector<double>{0, 1, 2, 3, 40, 50, 6, 7, 8, 9, 10, 11}));
  std::vector<std::byte> part(4);
  p.executable->read(program.x, part, 20);
  EXPECT_EQ(load_element(part.data(), DType::F32), 50);
  EXPECT_THROW(p.executable->read(program.x, part, 45), Error);
  EXPECT_THROW(p.executable->write(program.x, part, -4), Error);
}

TEST(CpuExecutable, Profile_TimesEachOpWithTheSameResults) {
  const GatherProgram program;
  Prepared p(program);
  p.write(program.x, kTable);
  p.write(program.index, {2});
  EXPECT_EQ(p.executable->profile(OpProgram::kSequence).size(), 1u);
  EXPECT_EQ(p.values(program.y), (std::vector<double>{6, 7, 8}));
}

TEST(CpuExecutable, Poison_SparesRunAndTheGroupsOwnBuffers) {
  // Two sequences of one group, one of another: each gathers from a cache of the group's into a result.
  GatherProgram program;
  StepProgram& steps = program.program;
  const auto buffer = [&](TensorId id) -> Buffer& {
    return steps.buffers[static_cast<size_t>(steps.tensor(id).buffer)];
  };
  buffer(program.x).lifetime = Lifetime::Group;
  Op op = program.op();
  steps.sequence(SequenceId::Prefill).ops = {op};
  steps.sequence(SequenceId::Decode).ops = {op};
  steps.sequence(SequenceId::Prefill).group = steps.sequence(SequenceId::Decode).group = 1;
  const TensorId other = program.add_tensor(DType::F32, {4, 3});
  op.operands[0].tensor = other;
  steps.sequence(OpProgram::kSequence).ops = {op};
  MemoryPlan plan;
  plan.offsets.resize(steps.buffers.size());
  // Persistent buffers first, as plans have them; the group's cache behind.
  for (const bool persistent : {true, false}) {
    for (size_t i = 0; i < steps.buffers.size(); ++i) {
      if ((steps.buffers[i].lifetime == Lifetime::Run) != persistent) continue;
      plan.offsets[i] = plan.arena_bytes;
      plan.arena_bytes += steps.buffers[i].bytes;
    }
    if (persistent) plan.persistent_bytes = plan.arena_bytes;
  }
  PrepareOptions options;
  options.poison = true;
  const auto backend = make_cpu_backend();
  const auto executable = backend->prepare(steps, plan, options);
  const auto result = [&](SequenceId sequence) {
    executable->run(sequence);
    std::byte bytes[12];
    executable->read(program.y, bytes);
    return load_element(bytes, DType::F32);
  };
  executable->write(other, encoded(kTable, DType::F32));
  EXPECT_TRUE(std::isnan(result(SequenceId::Prefill)));  // the cache holds nothing yet
  executable->write(program.x, encoded(std::vector<double>(12, 7), DType::F32));
  EXPECT_EQ(result(SequenceId::Decode), 7);
  EXPECT_EQ(result(OpProgram::kSequence), 0);  // Lifetime::Run was spared
  EXPECT_TRUE(std::isnan(result(SequenceId::Decode)));
}

TEST(CpuExecutable, TokenOutsideTheVocabulary_IsAnErrorNotAWildRead) {
  OpProgram program(OpKind::Embedding);
  const TensorId tokens = program.add_tensor(DType::I32, {2});
  program.add_operand(tokens, Access::Read);
  program.add_operand(program.add_tensor(DType::F32, {4, 8}), Access::Read);
  program.add_operand(program.add_tensor(DType::F32, {2, 8}), Access::Write);
  Prepared p(program);
  for (const double token : {4.0, -1.0, 1e9}) {
    p.write(tokens, {0, token});
    try {
      p.run();
      FAIL() << token;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_NE(error.what_happened().find("position 1"), std::string::npos);
    }
  }
  p.write(tokens, {0, 3});
  EXPECT_NO_THROW(p.run());
}

TEST(CpuBackend, Refusals_NameOpAndTensorAndPrepareAgrees) {
  OpProgram program(OpKind::RmsNorm);
  program.add_operand(program.add_tensor(DType::F32, {4, 8}), Access::Read);
  program.add_operand(program.add_tensor(DType::BF16, {8}), Access::Read);  // must be wide
  program.add_operand(program.add_tensor(DType::F32, {4, 8}), Access::Write);
  const auto backend = make_cpu_backend();
  const auto reasons = backend->refusals(program.program);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_NE(reasons[0].find("rms norm"), std::string::npos);
  EXPECT_NE(reasons[0].find("tensor3 (bf16) must be fp32"), std::string::npos);
  EXPECT_THROW(backend->prepare(program.program, program.plan(), {}), Error);
}

// One AdamW program over BF16 weights with the given master.
struct AdamWProgram : OpProgram {
  static constexpr int64_t kElements = 2048;

  AdamWProgram(DType weight_dtype, DType master_dtype) : OpProgram(OpKind::AdamW) {
    const Shape shape{kElements};
    gradient = add_tensor(DType::F32, shape);
    weight = add_tensor(weight_dtype, shape);
    add_operand(gradient, Access::Read);
    add_operand(weight, master_dtype == DType::F32 ? Access::Write : Access::InPlace);
    if (master_dtype != weight_dtype) master = add_tensor(master_dtype, shape);
    add_operand(master, Access::InPlace);
    for (int i = 0; i < 2; ++i) add_operand(add_tensor(DType::F32, shape), Access::InPlace);
    for (int i = 0; i < 2; ++i) add_operand(kNone, Access::Read);
    scalars = add_tensor(DType::F32, {kStepScalarCount});
    clip = add_tensor(DType::F32, {4});
    add_operand(scalars, Access::Read);
    add_operand(clip, Access::Read);
    op().attributes.eps = 1e-8;
    op().attributes.beta1 = 0.9;
    op().attributes.beta2 = 0.95;
    op().attributes.weight_decay = 0.1;
    op().attributes.group = 0;
  }
  TensorId gradient = kNone, weight = kNone, master = kNone, scalars = kNone, clip = kNone;
};

void write_step(Prepared& p, const AdamWProgram& program, int step, RandomValues& random, double skip = 0) {
  p.write(program.gradient, random.normal(AdamWProgram::kElements, 1e-3));
  p.write(program.scalars,
          {0, 1e-3, 1 - std::pow(0.9, step), 1 - std::pow(0.95, step), 1, 0, static_cast<double>(step), 17});
  p.write(program.clip, {2, 0.5, skip, 0});
}

TEST(CpuAdamW, SplitMaster_TwoHundredUpdates_BitEqualToFullMaster) {
  const AdamWProgram full_program(DType::BF16, DType::F32), split_program(DType::BF16, DType::I16);
  Prepared full(full_program), split(split_program);
  RandomValues initial(kSeed);
  std::vector<double> masters = initial.normal(AdamWProgram::kElements, 0.05), weights, remainders;
  for (double& master : masters) {
    const auto single = static_cast<float>(master);
    master = static_cast<double>(single);
    weights.push_back(static_cast<double>(to_float(to_bf16_ties_away(single))));
    remainders.push_back(split_remainder(single));
  }
  full.write(full_program.master, masters);
  split.write(split_program.weight, weights);
  split.write(split_program.master, remainders);
  RandomValues full_random(kSeed + 1), split_random(kSeed + 1);
  for (int step = 1; step <= 200; ++step) {
    write_step(full, full_program, step, full_random);
    write_step(split, split_program, step, split_random);
    full.run();
    split.run();
    ASSERT_EQ(full.bytes(full_program.weight), split.bytes(split_program.weight)) << "step " << step;
  }
  const auto whole = full.values(full_program.master), high = split.values(split_program.weight),
             low = split.values(split_program.master);
  for (size_t i = 0; i < whole.size(); ++i) {
    ASSERT_EQ(static_cast<float>(whole[i]),
              join_master(to_bf16(static_cast<float>(high[i])), static_cast<int16_t>(low[i])));
  }
}

TEST(CpuAdamW, Skip_LeavesEveryBit) {
  for (const DType master : {DType::BF16, DType::F32, DType::I16}) {
    const AdamWProgram program(DType::BF16, master);
    Prepared p(program);
    RandomValues random(kSeed);
    write_step(p, program, 1, random);
    p.run();
    write_step(p, program, 2, random, 1);
    std::vector<std::vector<std::byte>> before;
    for (size_t b = 0; b < program.program.buffers.size(); ++b) {
      before.push_back(p.bytes(program.image(static_cast<BufferId>(b))));
    }
    p.run();
    for (size_t b = 0; b < before.size(); ++b) {
      EXPECT_EQ(before[b], p.bytes(program.image(static_cast<BufferId>(b))));
    }
  }
}

TEST(CpuAdamW, StochasticRounding_SameSeedSameBits_OtherSeedOther) {
  const AdamWProgram program(DType::BF16, DType::BF16);
  const auto weights_after = [&](double seed) {
    Prepared p(program);
    RandomValues random(kSeed);
    p.write(program.weight, random.normal(AdamWProgram::kElements, 0.05));
    write_step(p, program, 1, random);
    p.write(program.scalars, {0, 1e-3, 0.1, 0.05, 1, 0, seed, 17});
    p.run();
    return p.bytes(program.weight);
  };
  EXPECT_EQ(weights_after(1), weights_after(1));
  EXPECT_NE(weights_after(1), weights_after(2));
}

TEST(CpuAdamW, StochasticRounding_TinyUpdates_MoveTheMean) {
  // Updates of 1/40 of a BF16 step are lost by rounding to nearest; on average they must not be.
  const AdamWProgram program(DType::BF16, DType::BF16);
  OpProgram op = program;
  op.op().attributes.weight_decay = 0;
  Prepared p(op);
  p.write(program.weight, std::vector<double>(AdamWProgram::kElements, 1.0));
  p.write(program.gradient, std::vector<double>(AdamWProgram::kElements, 1.0));
  p.write(program.clip, {1, 1, 0, 0});
  constexpr int kSteps = 100;
  constexpr double kRate = 1e-4;
  for (int step = 1; step <= kSteps; ++step) {
    p.write(program.scalars, {0, kRate, 1 - std::pow(0.9, step), 1 - std::pow(0.95, step), 1, 0,
                              static_cast<double>(step), 17});
    p.run();
  }
  double mean = 0;
  for (const double weight : p.values(program.weight)) mean += weight / AdamWProgram::kElements;
  // A constant gradient moves every weight by the rate each step; the mean of 2048 walks errs far less than
  // 5%.
  EXPECT_NEAR(1 - mean, kSteps * kRate, 0.05 * kSteps * kRate);
}

}  // namespace
}  // namespace lathe::test
