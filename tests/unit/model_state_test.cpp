// First values, constants and copies of a model's numbers, in every storage format.
#include "core/train/model_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/api/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace lathe {
namespace {

using testing::TestModel;

struct Format {
  const char* name;
  Compute compute;
  Master master;
};

RunConfig config_of(const Format& format) {
  RunConfig config = testing::small_config();
  config.model.tied_embeddings = false;
  config.precision.compute = format.compute;
  if (format.compute == Compute::Bf16) {
    config.precision.weights = Storage::Bf16;
    config.precision.master = format.master;
  }
  return config;
}

class ModelState : public ::testing::TestWithParam<Format> {
 protected:
  ModelState() : backend_(make_cpu_backend()), model_(*backend_, config_of(GetParam())) {}
  bool exact() const { return GetParam().compute == Compute::Fp32 || GetParam().master != Master::None; }

  std::unique_ptr<Backend> backend_;
  TestModel model_;
};

TEST_P(ModelState, InitialWeights_HaveTheirDeviationAndPadding) {
  for (const Parameter& parameter : model_.program().parameters) {
    const std::vector<double> values = model_.weight(parameter.name);
    if (parameter.init_one) {
      for (const double value : values) EXPECT_EQ(value, 1) << parameter.name;
      continue;
    }
    const int64_t columns = parameter.shape[1];
    const int64_t valid = (parameter.valid_rows > 0 ? parameter.valid_rows : parameter.shape[0]) * columns;
    double square = 0, sum = 0;
    for (int64_t i = 0; i < valid; ++i) {
      sum += values[static_cast<size_t>(i)];
      square += values[static_cast<size_t>(i)] * values[static_cast<size_t>(i)];
    }
    // Five standard errors of the mean and of the deviation.
    const double count = static_cast<double>(valid), bound = 5 / std::sqrt(count);
    EXPECT_NEAR(sum / count, 0, bound * parameter.init_std) << parameter.name;
    EXPECT_NEAR(std::sqrt(square / count), parameter.init_std, bound * parameter.init_std) << parameter.name;
    for (size_t i = static_cast<size_t>(valid); i < values.size(); ++i) EXPECT_EQ(values[i], 0);
  }
}

TEST_P(ModelState, InitialWeights_DependOnSeedAndNameAlone) {
  // Another layout, other settings besides the architecture: the same values.
  RunConfig other_config = config_of({"", Compute::Fp32, Master::None});
  other_config.batch.micro_batch = 1;
  testing::ModelOptions options;
  options.layout_seed = 5;
  TestModel other(*backend_, other_config, options);
  for (const Parameter& parameter : model_.program().parameters) {
    const auto ours = model_.weight(parameter.name), theirs = other.weight(parameter.name);
    if (exact()) {
      EXPECT_EQ(ours, theirs) << parameter.name;
    } else {
      EXPECT_LT(testing::relative_difference(ours, theirs), 0x1p-8) << parameter.name;
    }
  }
  initialise_weights(other.program(), other.executable(), 2);
  EXPECT_GT(testing::relative_difference(other.weight("embed.weight"), model_.weight("embed.weight")), 1);
  EXPECT_GT(testing::relative_difference(model_.weight("layer.0.attn.o.weight"),
                                         model_.weight("layer.1.attn.o.weight")),
            1);
}

TEST_P(ModelState, SetParameterValues_ReadBackExactly) {
  const Parameter& parameter = model_.parameter("layer.1.ffn.down.weight");
  std::vector<float> values(static_cast<size_t>(parameter.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 1e-3f;
  const auto before = model_.weight("layer.0.ffn.down.weight");
  set_parameter_values(model_.program(), model_.executable(), parameter, values);
  const auto back = parameter_values(model_.program(), model_.executable(), parameter);
  for (size_t i = 0; i < values.size(); ++i) {
    if (exact()) {
      ASSERT_EQ(back[i], values[i]) << i;
    } else {
      ASSERT_NEAR(back[i], values[i], std::abs(values[i]) * 0x1p-8f) << i;
    }
  }
  // What the forward pass reads is the value rounded to the weight's own type, and no neighbour moved.
  const auto stored = model_.values(parameter.weight);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(stored[i], values[i], std::abs(values[i]) * 0x1p-8);
  EXPECT_EQ(model_.weight("layer.0.ffn.down.weight"), before);
  values.pop_back();
  EXPECT_THROW(set_parameter_values(model_.program(), model_.executable(), parameter, values), Error);
}

TEST_P(ModelState, SavedTensors_AreWeightsMastersAndStates) {
  const StepProgram& program = model_.program();
  std::vector<bool> saved(program.buffers.size());
  for (const TensorId id : saved_tensors(program)) {
    const Tensor& tensor = program.tensor(id);
    EXPECT_EQ(tensor.bytes(), program.buffer_of(id).bytes) << tensor.name << ": a part only";
    EXPECT_FALSE(saved[static_cast<size_t>(tensor.buffer)]) << tensor.name << ": twice";
    saved[static_cast<size_t>(tensor.buffer)] = true;
  }
  for (size_t i = 0; i < saved.size(); ++i) {
    const Role role = program.buffers[i].role;
    EXPECT_EQ(saved[i], role == Role::Weight || role == Role::Master || role == Role::OptimizerState)
        << program.buffers[i].name;
  }
}

TEST_P(ModelState, ReadPieces_JoinToTheTensor) {
  for (const TensorId id : saved_tensors(model_.program())) {
    std::vector<std::byte> joined;
    read_pieces(model_.program(), model_.executable(), id, [&](std::span<const std::byte> piece) {
      joined.insert(joined.end(), piece.begin(), piece.end());
    });
    EXPECT_EQ(joined, model_.bytes(id));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ModelState,
                         ::testing::Values(Format{"fp32", Compute::Fp32, Master::None},
                                           Format{"bf16_master", Compute::Bf16, Master::Fp32},
                                           Format{"bf16_split", Compute::Bf16, Master::Split},
                                           Format{"bf16_alone", Compute::Bf16, Master::None}),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(Constants, RopeTable_HoldsCosinesAndSinesOfPositions) {
  const auto backend = make_cpu_backend();
  RunConfig config = testing::small_config();
  config.model.rope_theta = 500;
  testing::ModelOptions options;
  options.build.fp64 = true;
  TestModel model(*backend, config, options);
  const auto table = model.values(model.program().ports.rope_table);
  const int64_t dim = config.model.head_dim;
  for (int64_t position = 0; position < config.model.context; ++position) {
    for (int64_t i = 0; i < dim / 2; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(500.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      EXPECT_NEAR(table[static_cast<size_t>(position * dim + i)], std::cos(angle), 1e-14);
      EXPECT_NEAR(table[static_cast<size_t>(position * dim + dim / 2 + i)], std::sin(angle), 1e-14);
    }
  }
}

}  // namespace
}  // namespace lathe
