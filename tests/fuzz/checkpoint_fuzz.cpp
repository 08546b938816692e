// Checkpoints under the fuzzer: a manifest or a tensor file that was changed is refused, or loads exactly
// what was written.
#include <gtest/gtest.h>

#include "core/config/config_json.h"
#include "core/data/window_sampler.h"
#include "core/platform/files.h"
#include "core/train/checkpoint.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// A small model's checkpoint with every kind of file: BF16 weights, split masters, 8-bit states.
class CheckpointFuzz : public ::testing::Test {
 protected:
  CheckpointFuzz() {
    CheckpointManifest manifest;
    manifest.run = "r1";
    manifest.settings = to_json(config_);
    manifest.progress.cursor = cursor_to_json({128, 1, 30, {{"a", "00ff", 20, 3}, {"b", "11ee", 10, 0}}});
    manifest.kernel_selection = "{}";
    write_checkpoint(step(), manifest, model_.program(), model_.executable());
  }

  static RunConfig small_bf16() {
    RunConfig config = testing::small_config();
    config.model.layers = 1;
    config.precision.compute = Compute::Bf16;
    config.precision.weights = Storage::Bf16;
    config.precision.master = Master::Split;
    config.optimizer.state = State::Int8;
    return config;
  }
  fs::path step() const { return folder_.path() / "step"; }
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  void load(const CheckpointManifest& manifest, LoadStates states) {
    load_checkpoint(step(), manifest, model_.program(), model_.executable(), states);
  }

  const std::unique_ptr<Backend> backend_ = make_cpu_backend();
  const RunConfig config_ = small_bf16();
  testing::TestModel model_{*backend_, config_};
  const TemporaryFolder folder_{"checkpoint-fuzz", testing::fuzz_folder()};
};

// As a resume and a fork read it: settings, data position, weights, states.
TEST_F(CheckpointFuzz, Manifest_Mutated_IsLoadedOrRefused) {
  const fs::path path = step() / kCheckpointManifest;
  testing::fuzz("checkpoint-manifest", {read_file(path)},
                [&](const std::string& input) {
                  write(path, input);
                  const CheckpointManifest read = read_manifest(step());
                  from_json(nlohmann::json::parse(read.settings.dump()));
                  cursor_from_json(read.progress.cursor);
                  verify_checkpoint(step(), read);
                  std::string answer = "loaded";
                  for (const LoadStates states : {LoadStates::WeightsOnly, LoadStates::WithStates}) {
                    try {
                      load(read, states);
                      answer += " once";
                    } catch (const Error& error) {
                      answer += error.what_happened().substr(0, 12);
                    }
                  }
                  return answer;
                },
                {.words = {"\"offset\": 9223372036854775807", "\"shape\": [1073741824, 1073741824]", "-1",
                           "null", "[]", "{}", "1e999", "1e18", "\"bytes\": 0", std::string(70, '['), "fp32",
                           "bf16", "int16", "none"}});
}

// A valid manifest over a mutated file: never accepted unless the bytes are the written ones.
TEST_F(CheckpointFuzz, TensorFile_Mutated_IsNeverLoaded) {
  const fs::path path = step() / "norms.rule0.weight.bin";
  const std::string valid = read_file(path);
  testing::fuzz("checkpoint-tensor", {valid}, [&](const std::string& input) {
    write(path, input);
    load(read_manifest(step()), LoadStates::WithStates);
    EXPECT_EQ(input, valid);
  });
}

}  // namespace
}  // namespace lathe
