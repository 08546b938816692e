// What must not change a result: recompute level, memory layout, threads and profiling to the bit; loss
// chunks and the split into micro-steps within rounding; evaluation and generation, which run other
// sequences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace lathe::testing {
namespace {

constexpr uint64_t kSeed = 20261204;

RunConfig everything_on() {
  RunConfig config = small_config();
  config.model.kv_heads = 2;
  config.model.qk_norm = config.attention.document_mask = true;
  config.model.tied_embeddings = false;
  config.loss.z_loss = 1e-3;
  config.batch.accumulation = 3;
  return config;
}

RunConfig fp32_config() {
  return everything_on();
}

// What a GPU runs: BF16 with masters, BF16 gradients, 8-bit states.
RunConfig bf16_config() {
  RunConfig config = everything_on();
  config.precision.compute = Compute::Bf16;
  config.precision.weights = config.precision.gradients = Storage::Bf16;
  config.precision.master = Master::Split;
  config.optimizer.state = State::Int8;
  return config;
}

std::vector<Batch> random_window(const RunConfig& config) {
  std::vector<Batch> window;
  for (int64_t i = 0; i < config.batch.accumulation; ++i) {
    window.push_back(random_batch(config, kSeed + static_cast<uint64_t>(i), 0.2 * static_cast<double>(i)));
  }
  return window;
}

void append(std::vector<std::byte>& all, const std::vector<std::byte>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

// The bits of two updates: losses and every gradient of each window, norms, and at the end all weights,
// masters and states.
std::vector<std::byte> bits_of_training(Backend& backend, const RunConfig& config,
                                        const ModelOptions& options = {}) {
  TestModel model(backend, config, options);
  model.randomise_weights(kSeed);
  const std::vector<Batch> window = random_window(config);
  std::vector<std::byte> bits;
  for (int64_t step = 1; step <= 2; ++step) {
    model.accumulate(window);
    append(bits, model.bytes(model.program().ports.loss_sums));
    for (const Parameter& parameter : model.program().parameters)
      append(bits, model.bytes(parameter.gradient));
    UpdateScalars scalars;
    scalars.learning_rate = 1e-2;
    scalars.optimizer_step = step;
    scalars.valid_tokens = valid_tokens(window);
    scalars.clip = 1;
    model.update(scalars);
    append(bits, model.bytes(model.program().ports.clip));
  }
  for (const ParameterGroup& group : model.program().groups) {
    for (const TensorId id : {group.weight, group.master, group.m, group.v, group.m_scale, group.v_scale}) {
      if (id != kNone) append(bits, model.bytes(id));
    }
  }
  return bits;
}

struct Precision {
  const char* name;
  RunConfig (*config)();
};
void PrintTo(const Precision& precision, std::ostream* out) {
  *out << precision.name;
}

class Equality : public ::testing::TestWithParam<Precision> {
 protected:
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
};

TEST_P(Equality, RecomputeLevels_SameBits) {
  RunConfig config = GetParam().config();
  config.memory.recompute.levels = {RecomputeLevel::None};
  const std::vector<std::byte> expected = bits_of_training(*backend_, config);
  for (size_t level = 1; level < choice_names(RecomputeLevel{}).size(); ++level) {
    config.memory.recompute.levels = {static_cast<RecomputeLevel>(level)};
    EXPECT_EQ(bits_of_training(*backend_, config), expected) << choice_names(RecomputeLevel{})[level];
  }
  config.memory.recompute.levels = {RecomputeLevel::Block, RecomputeLevel::Norms};
  EXPECT_EQ(bits_of_training(*backend_, config), expected) << "mixed";
}

TEST_P(Equality, ShuffledLayoutsOverPoison_SameBits) {
  RunConfig config = GetParam().config();
  config.memory.recompute.levels = {RecomputeLevel::GateUp, RecomputeLevel::AttentionFfn};
  config.memory.loss_chunk_tokens = {false, 9};
  const std::vector<std::byte> expected = bits_of_training(*backend_, config);
  ModelOptions options;
  options.prepare.poison = true;
  for (uint64_t seed = 0; seed <= 5; ++seed) {
    options.layout_seed = seed;
    EXPECT_EQ(bits_of_training(*backend_, config, options), expected) << "layout seed " << seed;
  }
}

TEST_P(Equality, NumberOfThreads_SameBits) {
  RunConfig config = GetParam().config();
  config.model.context = 96;  // enough rows for several items of work in every op
  ModelOptions options;
  options.prepare.threads = 1;
  const std::vector<std::byte> expected = bits_of_training(*backend_, config, options);
  for (const int threads : {2, 3}) {
    options.prepare.threads = threads;
    EXPECT_EQ(bits_of_training(*backend_, config, options), expected) << threads << " threads";
  }
}

TEST_P(Equality, DifferentZLoss_DifferentBits) {
  // The comparisons above would be empty if the bits didn't depend on the maths.
  RunConfig config = GetParam().config();
  const std::vector<std::byte> expected = bits_of_training(*backend_, config);
  config.loss.z_loss = 2e-3;
  EXPECT_NE(bits_of_training(*backend_, config), expected);
}

TEST_P(Equality, Profile_SameBitsAsRun) {
  const RunConfig config = GetParam().config();
  TestModel run(*backend_, config), profiled(*backend_, config);
  const Batch batch = random_batch(config, kSeed);
  for (TestModel* model : {&run, &profiled}) model->write_scalars({.valid_tokens = batch.valid_tokens});
  run.micro_step(batch, true);
  profiled.write_batch(batch);
  profiled.executable().profile(SequenceId::MicroFirst);
  EXPECT_EQ(run.window_loss(), profiled.window_loss());
  for (const Parameter& parameter : run.program().parameters) {
    EXPECT_EQ(run.bytes(parameter.gradient), profiled.bytes(parameter.gradient)) << parameter.name;
  }
}

TEST_P(Equality, Evaluation_SameLossAsTraining) {
  for (const int64_t chunk : {0, 9}) {
    RunConfig config = GetParam().config();
    config.memory.loss_chunk_tokens = {false, chunk};
    TestModel model(*backend_, config);
    model.randomise_weights(kSeed);
    const Batch batch = random_batch(config, kSeed);
    model.accumulate({batch});
    const LossSums training = model.window_loss();
    EXPECT_EQ(model.evaluate(batch), training) << "chunk " << chunk;
    EXPECT_GT(training.loss, 0);
    EXPECT_GT(training.z_loss, 0);
  }
}

// Every split of a prompt into prefill and decode steps ends in the logits of one prefill.
//   FP32: a row of logits is a chain of dot products whose order alone differs (blocked attention here, one
//   row against the cache there): n·u with the longest sum n = 61 < 64, u = 2^-24, is 4e-6 of the logits'
//   norm. BF16 rounds each of a dozen values in a row to 2^-9.
TEST_P(Equality, PrefillAndDecode_SameLogitsAsPrefillAlone) {
  RunConfig config = GetParam().config();
  config.attention.document_mask = false;  // a prompt is one document
  const double tolerance = config.precision.compute == Compute::Fp32 ? 4e-6 : 12 * 0x1p-9;
  ModelOptions options;
  options.build.generate = true;
  options.prepare.poison = true;
  TestModel model(*backend_, config, options);
  model.randomise_weights(kSeed);
  const std::vector<int32_t> all = random_batch(config, kSeed).tokens;
  const auto length = static_cast<size_t>(config.model.context);
  const std::vector<int32_t> ids(all.begin(), all.begin() + static_cast<int64_t>(length));
  const auto beginning = [&](size_t n) {
    return std::vector<int32_t>(ids.begin(), ids.begin() + static_cast<int64_t>(n));
  };

  std::vector<std::vector<double>> expected;
  for (size_t n = 1; n <= length; ++n) expected.push_back(model.prefill(beginning(n)));
  EXPECT_GT(relative_difference(expected[length - 1], expected[length - 2]), 0.1);
  for (const size_t prompt : {size_t{1}, size_t{5}, length - 1}) {
    model.prefill(beginning(prompt));
    for (size_t at = prompt; at < length; ++at) {
      const auto logits = model.decode(ids[at], static_cast<int64_t>(at));
      EXPECT_LE(relative_difference(logits, expected[at]), tolerance) << "prompt " << prompt << ", at " << at;
    }
  }
}

// A prefill's log-probabilities are those of the training forward: a batch in which only one position counts
// has minus the logarithm of its target's probability as its loss.
TEST_P(Equality, Prefill_SameProbabilitiesAsForward) {
  RunConfig config = GetParam().config();
  config.attention.document_mask = false;
  config.batch.micro_batch = 1;
  ModelOptions options;
  options.build.generate = true;
  TestModel model(*backend_, config, options);
  model.randomise_weights(kSeed);
  Batch batch = random_batch(config, kSeed);
  const double tolerance = config.precision.compute == Compute::Fp32 ? 1e-5 : 0.05;  // of nats
  for (const size_t position : {size_t{0}, size_t{6}, batch.tokens.size() - 1}) {
    const std::vector<int32_t> prompt(batch.tokens.begin(),
                                      batch.tokens.begin() + static_cast<int64_t>(position) + 1);
    const std::vector<double> logits = model.prefill(prompt);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    for (const int32_t target : {0, 17, 60}) {
      std::fill(batch.targets.begin(), batch.targets.end(), -1);
      batch.targets[position] = target;
      const double expected = std::log(sum) - logits[static_cast<size_t>(target)];
      EXPECT_NEAR(model.evaluate(batch).loss, expected, tolerance) << position << " " << target;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Equality,
                         ::testing::Values(Precision{"fp32", fp32_config}, Precision{"bf16", bf16_config}),
                         [](const auto& precision) { return std::string(precision.param.name); });

// Two FP32 programs whose sums are the same but in another order. Reordering n terms moves a sum by at most
// 2·n·u of the sum of their magnitudes (Higham 2002, section 4.2; u = 2^-24). The longest sum here has n = 96
// terms (a gradient over the rows of the window), magnitudes add up to a few times the result, and errors of
// successive ops add: 8·n·u = 4.6e-5 of each gradient's norm. One token left out moves it a thousand times as
// far (below).
constexpr double kReordered = 8 * 96 * 0x1p-24;

void expect_close(TestModel& a, TestModel& b, const std::string& what) {
  EXPECT_NEAR(a.window_loss().total(), b.window_loss().total(), kReordered * b.window_loss().total()) << what;
  for (const Parameter& parameter : a.program().parameters) {
    EXPECT_LE(relative_difference(a.gradient(parameter.name), b.gradient(parameter.name)), kReordered)
        << parameter.name << ", " << what;
  }
}

TEST(MicroSteps, OneTokenLeftOut_MovesGradientsFarBeyondRounding) {
  const auto backend = make_cpu_backend();
  const RunConfig config = everything_on();
  std::vector<Batch> window = random_window(config);
  TestModel all(*backend, config), fewer(*backend, config);
  for (TestModel* model : {&all, &fewer}) model->randomise_weights(kSeed);
  all.accumulate(window);
  // A position that sees several keys: with a single one, queries and keys have no gradient.
  Batch& first = window.front();
  const int64_t context = config.model.context;
  int64_t position = 0;
  while (position % context - first.document_start.at(static_cast<size_t>(position)) < 2) ++position;
  int32_t& target = first.targets[static_cast<size_t>(position)];
  ASSERT_GE(target, 0);
  target = -1;
  fewer.accumulate(window);
  for (const Parameter& parameter : all.program().parameters) {
    EXPECT_GT(relative_difference(fewer.gradient(parameter.name), all.gradient(parameter.name)),
              100 * kReordered)
        << parameter.name;
  }
}

TEST(LossChunks, EverySize_EqualsOneChunkWithinRounding) {
  const auto backend = make_cpu_backend();
  for (const bool tied : {false, true}) {
    RunConfig config = everything_on();
    config.model.tied_embeddings = tied;
    const std::vector<Batch> window = random_window(config);
    TestModel whole(*backend, config);
    whole.randomise_weights(kSeed);
    whole.accumulate(window);
    for (const int64_t chunk : {1, 3, 8, 16, 31, 32}) {
      config.memory.loss_chunk_tokens = {false, chunk};
      TestModel chunked(*backend, config);
      chunked.randomise_weights(kSeed);
      chunked.accumulate(window);
      expect_close(chunked, whole, fmt::format("chunk {}, tied {}", chunk, tied));
    }
  }
}

TEST(MicroSteps, SplitWindow_EqualsOneBigBatchWithinRounding) {
  const auto backend = make_cpu_backend();
  RunConfig config = everything_on();
  config.batch.micro_batch = 4;
  const Batch big = random_batch(config, kSeed, 0.4);
  TestModel whole(*backend, config);
  whole.randomise_weights(kSeed);
  whole.accumulate({big});

  for (const int64_t micro_batch : {1, 2}) {
    config.batch.micro_batch = micro_batch;
    std::vector<Batch> window;
    const int64_t positions = micro_batch * config.model.context;
    for (int64_t at = 0; at < 4 * config.model.context; at += positions) {
      const auto part = [&](const std::vector<int32_t>& all) {
        return std::vector<int32_t>(all.begin() + at, all.begin() + at + positions);
      };
      Batch batch{part(big.tokens), part(big.targets), part(big.document_start), 0};
      batch.valid_tokens = positions - std::count(batch.targets.begin(), batch.targets.end(), -1);
      window.push_back(std::move(batch));
    }
    TestModel split(*backend, config);
    split.randomise_weights(kSeed);
    split.accumulate(window);
    expect_close(split, whole, fmt::format("micro-batch {}", micro_batch));
  }
}

}  // namespace
}  // namespace lathe::testing
