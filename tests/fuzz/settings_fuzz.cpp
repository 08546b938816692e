// Settings, presets, calibration and kernel selection under the fuzzer: what is read is sound, or refused.
#include <gtest/gtest.h>

#include <cmath>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/resources.h"
#include "core/config/validate.h"
#include "core/model/parameters.h"
#include "core/platform/files.h"
#include "core/program/calibration.h"
#include "kernels/cuda/kernel_selection.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/config_random.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> json_words = {"{",
                                             "}",
                                             "[",
                                             "]",
                                             ":",
                                             ",",
                                             "\"",
                                             "\\u0000",
                                             "null",
                                             "true",
                                             "-1",
                                             "1e999",
                                             "1e18",
                                             "9223372036854775808",
                                             "\"15GiB\"",
                                             "\"auto\"",
                                             "\"[[[[[[\"",
                                             std::string(70, '['),
                                             "\"model\": {\"layers\": 2}"};

class SettingsFuzz : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  TemporaryFolder folder_{"settings-fuzz", testing::fuzz_folder()};
};

// What stands in a file becomes the same settings again when written, and any settings can be judged.
TEST_F(SettingsFuzz, SettingsFile_Mutated_RoundTripsOrIsRefused) {
  const fs::path path = folder_.path() / "settings.json";
  std::vector<std::string> seeds = {R"({"about": "text", "memory": {"vram_budget": "15GiB"}})"};
  for (const uint64_t seed : {1, 2, 3}) seeds.push_back(to_json(test::random_values(seed)).dump(1));
  for (const auto& entry : fs::directory_iterator(resources_folder() / "presets"))
    seeds.push_back(read_file(entry.path()));
  testing::fuzz("settings", seeds,
                [&](const std::string& input) {
                  write(path, input);
                  const RunConfig config = load_config(path);
                  EXPECT_EQ(from_json(to_json(config)), config);
                  read_json_file(path);
                  std::string answer = "accepted";
                  for (const Problem& problem : validate(config, Purpose::Train)) answer += " " + problem.key;
                  if (validate(config).empty()) {
                    EXPECT_GT(parameter_count(config), 0);
                  }
                  return answer;
                },
                {.words = json_words});
}

// The text of one setting, as --set takes it and forms and history hold it: "key=value".
TEST_F(SettingsFuzz, SettingText_Mutated_RoundTripsOrIsRefused) {
  std::vector<std::string> seeds;
  for (const uint64_t seed : {1, 2, 3}) {
    const RunConfig config = test::random_values(seed);
    for (const SettingInfo& info : settings())
      seeds.push_back(std::string(info.key) + "=" + info.get_text(config, info.unit));
  }
  testing::fuzz("setting-text", seeds,
                [&](const std::string& input) {
                  const size_t equals = std::min(input.find('='), input.size());
                  RunConfig config;
                  const SettingInfo& info = require_setting(input.substr(0, equals));
                  info.set_text(config, std::string_view(input).substr(std::min(equals + 1, input.size())));
                  RunConfig again;
                  info.set_text(again, info.get_text(config, info.unit));
                  EXPECT_TRUE(info.equal(config, again));
                  return std::string(info.key);
                },
                {.words = {"=", ",", ";", "*", "@", "[", "]", "\"", "GiB", "k", "-", "e", "auto", "nan",
                           "inf", "lr_factor=", std::string(70, '[')},
                 .most_bytes = 4096});
}

TEST_F(SettingsFuzz, Calibration_Mutated_IsSoundOrEmpty) {
  Calibration valid;
  valid.gpu = "GPU";
  valid.versions = "1";
  valid.ops = {{"linear wbf16:8x8", {0.25, 1e9, 1e6}}, {"attention", {1e-3, 1e6, 1e3}}};
  valid.sequences = {{0.1, 0.9}};
  valid.overhead_bytes = 500 << 20;
  valid.rates = GpuRates{1e14, 5e13, 1e12};
  save_calibration(folder_.path(), valid);
  const fs::path path = calibration_path(folder_.path(), valid.gpu);
  testing::fuzz("calibration", {read_file(path)},
                [&](const std::string& input) {
                  write(path, input);
                  const Calibration read = load_calibration(folder_.path(), valid.gpu);
                  EXPECT_GE(read.overhead_bytes.value_or(0), 0);
                  for (const TimedSequence& timed : read.sequences) EXPECT_GT(timed.factor, 0);
                  for (const auto& [key, op] : read.ops)
                    EXPECT_TRUE(std::isfinite(op.ms) && op.ms > 0) << key;
                  if (read.rates) {
                    EXPECT_GT(read.rates->matrix_flops, 0);
                  }
                  return "read " + std::to_string(read.ops.size()) +
                         (read.overhead_bytes ? " with overhead" : "");
                },
                {.words = json_words});
}

// As a run records it (refused when broken) and as the cache beside it (taken for none).
TEST_F(SettingsFuzz, KernelSelection_Mutated_IsReadOrRefused) {
  const auto select = [&](const std::string& recorded) {
    return cuda::KernelSelection("gpu 1", recorded, folder_.path());
  };
  cuda::KernelSelection valid = select("");
  valid.choose("gemm 8x8x8 bf16", "0011");
  valid.choose("attention", "own");
  valid.store();
  const fs::path path = fs::directory_iterator(folder_.path())->path();
  testing::fuzz("kernel-selection", {read_file(path)},
                [&](const std::string& input) {
                  write(path, input);
                  select("").find("attention");
                  cuda::KernelSelection recorded = select(input);
                  const std::optional<std::string> kernel = recorded.find("attention");
                  recorded.choose("new", "kernel");
                  recorded.store();
                  EXPECT_EQ(select("").find("new"), "kernel");
                  EXPECT_EQ(select(recorded.json()).find("new"), "kernel");
                  return kernel.value_or("none");
                },
                {.words = json_words});
}

}  // namespace
}  // namespace lathe
