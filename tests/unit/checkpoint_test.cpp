// Checkpoints: what is written comes back bit for bit; whatever is broken in a folder is named and refused;
// folders without a manifest are none.
#include "core/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/config/config_json.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "core/train/model_state.h"
#include "kernels/api/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::TestModel;

constexpr uint64_t kSeed = 20261207;

// BF16 with split masters and 8-bit states: every kind of file a checkpoint has.
RunConfig bf16_config() {
  RunConfig config = testing::small_config();
  config.precision.compute = Compute::Bf16;
  config.precision.weights = Storage::Bf16;
  config.precision.master = Master::Split;
  config.optimizer.state = State::Int8;
  return config;
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() : backend_(make_cpu_backend()), folder_("checkpoint-test") {}

  TestModel model(const RunConfig& config) { return TestModel(*backend_, config); }

  // A model two updates on, so that no state is zero.
  TestModel trained(const RunConfig& config) {
    TestModel trained = model(config);
    for (int64_t step = 1; step <= 2; ++step) {
      const Batch batch = testing::random_batch(config, kSeed + static_cast<uint64_t>(step));
      trained.accumulate({batch});
      trained.update({1e-2, step, batch.valid_tokens, 1});
    }
    return trained;
  }

  static CheckpointManifest manifest_of(const TestModel& model) {
    CheckpointManifest manifest;
    manifest.progress = {12, 11, 4096, 777, {{"epoch", 1}}, -0.5, 0.25, 11};
    manifest.run = "r1";
    manifest.settings = to_json(model.config());
    manifest.kernel_selection = "{}";
    manifest.device = "cpu test";
    manifest.versions = {{"lathe", "0.1.0"}};
    return manifest;
  }

  fs::path write(TestModel& model, int64_t step = 12) {
    const fs::path folder = checkpoint_folder(folder_.path(), step);
    write_checkpoint(folder, manifest_of(model), model.program(), model.executable());
    return folder;
  }

  static std::vector<std::byte> saved_bits(TestModel& model) {
    std::vector<std::byte> all;
    for (const TensorId id : saved_tensors(model.program())) {
      const auto part = model.bytes(id);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  template <class Action>
  static Error error_of(ErrorCode code, Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_FALSE(error.what_to_do().empty()) << error.what();
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(code, "nothing");
  }

  static void flip_bit(const fs::path& file, int64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const int byte = stream.get();
    stream.seekp(at);
    stream.put(static_cast<char>(byte ^ 4));
  }

  const fs::path& run_folder() const { return folder_.path(); }

  std::unique_ptr<Backend> backend_;
  TemporaryFolder folder_;
};

TEST_F(CheckpointTest, WriteAndLoad_EveryFormat_SameBits) {
  for (const Master master : {Master::Split, Master::Fp32, Master::None}) {
    for (const State state : {State::Int8, State::Bf16, State::Fp32}) {
      RunConfig config = bf16_config();
      config.precision.master = master;
      config.optimizer.state = state;
      TestModel source = trained(config);
      const fs::path folder = write(source);
      const CheckpointManifest manifest = read_manifest(folder);
      verify_checkpoint(folder, manifest);
      EXPECT_EQ(manifest.bytes(), checkpoint_bytes(source.program()));

      TestModel target = model(config);
      EXPECT_NE(saved_bits(target), saved_bits(source));
      load_checkpoint(folder, manifest, target.program(), target.executable(), LoadStates::WithStates);
      EXPECT_EQ(saved_bits(target), saved_bits(source));
    }
  }
}

TEST_F(CheckpointTest, Manifest_EveryField_ComesBack) {
  TestModel source = trained(bf16_config());
  const CheckpointManifest written = manifest_of(source), read = read_manifest(write(source));
  EXPECT_EQ(read.run, written.run);
  EXPECT_EQ(read.device, written.device);
  EXPECT_EQ(read.versions, written.versions);
  EXPECT_EQ(read.kernel_selection, written.kernel_selection);
  EXPECT_EQ(read.settings, written.settings);
  EXPECT_EQ(from_json(nlohmann::json::parse(read.settings.dump())), source.config());
  EXPECT_EQ(read.progress.step, 12);
  EXPECT_EQ(read.progress.optimizer_step, 11);
  EXPECT_EQ(read.progress.tokens, 4096);
  EXPECT_EQ(read.progress.active_ms, 777);
  EXPECT_EQ(read.progress.cursor, written.progress.cursor);
  EXPECT_EQ(read.progress.norm_mean, -0.5);
  EXPECT_EQ(read.progress.norm_variance, 0.25);
  EXPECT_EQ(read.progress.norm_count, 11);
  EXPECT_EQ(read.parameters.size(), source.program().parameters.size());
}

TEST_F(CheckpointTest, WeightsOnly_OtherPrecision_SameValues) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source);
  TestModel target = model(testing::small_config());
  load_checkpoint(folder, read_manifest(folder), target.program(), target.executable(),
                  LoadStates::WeightsOnly);
  for (const Parameter& parameter : source.program().parameters) {
    EXPECT_EQ(target.weight(parameter.name), source.weight(parameter.name)) << parameter.name;
  }
}

TEST_F(CheckpointTest, OtherSettings_AreRefusedByName) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source);
  const CheckpointManifest manifest = read_manifest(folder);
  const auto load = [&](const RunConfig& config, LoadStates states) {
    TestModel target = model(config);
    const auto before = saved_bits(target);
    const Error error = error_of(ErrorCode::InvalidConfig, [&] {
      load_checkpoint(folder, manifest, target.program(), target.executable(), states);
    });
    return std::string(error.what());
  };
  RunConfig wider = bf16_config();
  wider.model.ffn = 56;
  EXPECT_THAT(load(wider, LoadStates::WeightsOnly), ::testing::HasSubstr("layer.0.ffn.gate_up.weight"));
  load(wider, LoadStates::WithStates);
  RunConfig states = bf16_config();
  states.optimizer.state = State::Fp32;
  EXPECT_THAT(load(states, LoadStates::WithStates), ::testing::HasSubstr("matrices.m"));
  load(testing::small_config(), LoadStates::WithStates);
}

// Each kind of file, at its first, middle and last byte.
TEST_F(CheckpointTest, OneFlippedBit_AnywhereInAnyFile_IsFound) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source);
  const CheckpointManifest manifest = read_manifest(folder);
  TestModel target = model(bf16_config());
  EXPECT_GE(manifest.files.size(), 10u);
  for (const CheckpointFile& file : manifest.files) {
    for (const int64_t at : {int64_t{0}, file.bytes / 2, file.bytes - 1}) {
      const fs::path path = folder / from_utf8(file.name);
      flip_bit(path, at);
      const Error verified = error_of(ErrorCode::CorruptFile, [&] { verify_checkpoint(folder, manifest); });
      EXPECT_THAT(verified.what(), ::testing::HasSubstr(file.name));
      const Error loaded = error_of(ErrorCode::CorruptFile, [&] {
        load_checkpoint(folder, manifest, target.program(), target.executable(), LoadStates::WithStates);
      });
      EXPECT_THAT(loaded.what(), ::testing::HasSubstr(file.name));
      flip_bit(path, at);
    }
  }
  verify_checkpoint(folder, manifest);
}

TEST_F(CheckpointTest, CorruptWeights_WeightsOnly_AreFound) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source);
  TestModel target = model(testing::small_config());
  for (const char* name : {"matrices.weight.bin", "matrices.remainder.bin", "norms.rule0.weight.bin"}) {
    flip_bit(folder / name, 40);
    const Error error = error_of(ErrorCode::CorruptFile, [&] {
      load_checkpoint(folder, read_manifest(folder), target.program(), target.executable(),
                      LoadStates::WeightsOnly);
    });
    EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
    flip_bit(folder / name, 40);
  }
}

TEST_F(CheckpointTest, MissingShortAndLongFiles_AreFoundByTheManifest) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source);
  const CheckpointManifest manifest = read_manifest(folder);
  for (const CheckpointFile& file : manifest.files) {
    const fs::path path = folder / from_utf8(file.name);
    for (const int64_t bytes : {int64_t{0}, file.bytes - 1, file.bytes + 1}) {
      fs::resize_file(path, static_cast<uintmax_t>(bytes));
      EXPECT_THAT(error_of(ErrorCode::CorruptFile, [&] { read_manifest(folder); }).what(),
                  ::testing::HasSubstr(file.name));
    }
    fs::remove(path);
    EXPECT_THAT(error_of(ErrorCode::CorruptFile, [&] { read_manifest(folder); }).what(),
                ::testing::HasSubstr("missing"));
    std::ofstream(path) << std::string(static_cast<size_t>(file.bytes), 'x');  // right size, wrong content
    read_manifest(folder);
    error_of(ErrorCode::CorruptFile, [&] { verify_checkpoint(folder, manifest); });
  }
}

TEST_F(CheckpointTest, ManifestOfAnotherFormat_IsUnsupported) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source), path = folder / "manifest.json";
  auto document = nlohmann::ordered_json::parse(read_file(path));
  document["format"] = kCheckpointFormat + 1;
  write_file_atomically(path, document.dump());
  error_of(ErrorCode::Unsupported, [&] { read_manifest(folder); });
}

TEST_F(CheckpointTest, ManifestThatNamesFilesElsewhere_IsRefused) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source), path = folder / "manifest.json";
  const std::string text = read_file(path);
  for (const char* name : {"../secret", "/etc/hostname", "", ".", "a/b"}) {
    auto document = nlohmann::ordered_json::parse(text);
    document["files"][0]["name"] = name;
    write_file_atomically(path, document.dump());
    error_of(ErrorCode::CorruptFile, [&] { read_manifest(folder); });
  }
}

// Numbers at the ends of their type, and nesting without end: refused before anything is added up or copied.
TEST_F(CheckpointTest, ManifestWithImpossibleValues_IsRefused) {
  TestModel source = trained(bf16_config());
  const fs::path folder = write(source), path = folder / "manifest.json";
  const std::string text = read_file(path);
  for (const char* value : {"9223372036854775807", "-1", "1e30", "18446744073709551615", "0.5"}) {
    for (const char* place : {"/parameters/0/offset", "/parameters/0/shape/0", "/files/0/bytes",
                              "/progress/step", "/progress/active_ms"}) {
      auto document = nlohmann::ordered_json::parse(text);
      document[nlohmann::ordered_json::json_pointer(place)] = nlohmann::ordered_json::parse(value);
      write_file_atomically(path, document.dump());
      error_of(ErrorCode::CorruptFile, [&] { read_manifest(folder); });
    }
  }
  auto document = nlohmann::ordered_json::parse(text);
  document["parameters"][0]["offset"] = int64_t{1} << 53;  // a count, but of a larger file
  write_file_atomically(path, document.dump());
  error_of(ErrorCode::CorruptFile, [&] {
    TestModel target = model(bf16_config());
    load_checkpoint(folder, read_manifest(folder), target.program(), target.executable(),
                    LoadStates::WeightsOnly);
  });
  write_file_atomically(path, "{\"settings\": " + std::string(200000, '['));
  error_of(ErrorCode::CorruptFile, [&] { read_manifest(folder); });
}

TEST_F(CheckpointTest, IncompleteFolders_AreNoCheckpoints) {
  TestModel source = trained(bf16_config());
  for (const int64_t step : {int64_t{200}, int64_t{3}, int64_t{100'000'000'000}}) write(source, step);
  const fs::path torn = write(source, 300);
  fs::remove(torn / "manifest.json");
  fs::create_directories(run_folder() / "checkpoints" / "step-notanumber");
  fs::create_directories(run_folder() / "checkpoints" / "mine");
  EXPECT_EQ(list_checkpoints(run_folder()), (std::vector<int64_t>{3, 200, 100'000'000'000}));
  error_of(ErrorCode::NotFound, [&] { read_manifest(torn); });
  error_of(ErrorCode::NotFound, [&] { read_manifest(run_folder() / "nothing"); });

  EXPECT_EQ(remove_incomplete_checkpoints(run_folder()), 2);
  EXPECT_FALSE(fs::exists(torn));
  EXPECT_TRUE(fs::exists(run_folder() / "checkpoints" / "mine")) << "not Lathe's to delete";
  EXPECT_EQ(list_checkpoints(run_folder()).size(), 3u);
  remove_checkpoint(checkpoint_folder(run_folder(), 3));
  EXPECT_EQ(list_checkpoints(run_folder()), (std::vector<int64_t>{200, 100'000'000'000}));
  EXPECT_TRUE(list_checkpoints(run_folder() / "nothing").empty());
  EXPECT_EQ(remove_incomplete_checkpoints(run_folder() / "nothing"), 0);
}

TEST_F(CheckpointTest, SavingTheSameStepAgain_ReplacesIt) {
  TestModel first = trained(bf16_config()), second = model(bf16_config());
  write(first);
  const fs::path folder = write(second);
  TestModel target = trained(bf16_config());
  const CheckpointManifest manifest = read_manifest(folder);
  load_checkpoint(folder, manifest, target.program(), target.executable(), LoadStates::WithStates);
  EXPECT_EQ(saved_bits(target), saved_bits(second));
}

TEST_F(CheckpointTest, FailedWrite_LeavesNothing) {
  TestModel source = trained(bf16_config());
  const fs::path folder = checkpoint_folder(run_folder(), 5);
  EXPECT_THROW(write_checkpoint(folder, manifest_of(source), source.program(), source.executable(),
                                [](int64_t, int64_t) { throw Error(ErrorCode::DiskFull, "no space"); }),
               Error);
  EXPECT_FALSE(fs::exists(folder));
  // A file where the folder should be.
  std::ofstream(run_folder() / "blocked") << "x";
  error_of(ErrorCode::Io, [&] {
    write_checkpoint(run_folder() / "blocked" / "step", manifest_of(source), source.program(),
                     source.executable());
  });
  EXPECT_EQ(read_file(run_folder() / "blocked"), "x");
}

TEST_F(CheckpointTest, Progress_EndsAtTheTotal) {
  TestModel source = trained(bf16_config());
  int64_t last = 0, whole = 0;
  write_checkpoint(checkpoint_folder(run_folder(), 1), manifest_of(source), source.program(),
                   source.executable(), [&](int64_t done, int64_t total) {
                     EXPECT_GE(done, last);
                     last = done, whole = total;
                   });
  EXPECT_EQ(last, whole);
  EXPECT_EQ(whole, checkpoint_bytes(source.program()));
}

TEST(ExpendableCheckpoints, KeepLastAndEvery) {
  const std::vector<int64_t> steps = {100, 150, 200, 250, 300};
  EXPECT_EQ(expendable_checkpoints(steps, 2, 0), (std::vector<int64_t>{100, 150, 200}));
  EXPECT_EQ(expendable_checkpoints(steps, 2, 100), std::vector<int64_t>{150});
  EXPECT_EQ(expendable_checkpoints(steps, 1, 100), (std::vector<int64_t>{150, 250}));
  EXPECT_TRUE(expendable_checkpoints(steps, 5, 0).empty());
  EXPECT_TRUE(expendable_checkpoints(steps, 9, 0).empty());
  EXPECT_TRUE(expendable_checkpoints({}, 3, 0).empty());
}

// Whatever the manifest says, reading and loading answer with an Error or do as they should.
}  // namespace
}  // namespace lathe
