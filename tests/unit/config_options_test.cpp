// The command line's way to settings: presets, files and flags, each over the one before.
#include "app/cli/config_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config_text.h"
#include "core/config/setting_info.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig parse(std::vector<std::string> arguments) {
  CLI::App app;
  ConfigOptions options(app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  app.parse(arguments);
  return options.config();
}

TEST(ConfigOptions, Nothing_GivesDefaults) {
  EXPECT_EQ(parse({}), RunConfig{});
}

TEST(ConfigOptions, EverySetting_IsAFlag) {
  CLI::App app;
  const ConfigOptions options(app);
  for (const SettingInfo& info : settings())
    EXPECT_NE(app.get_option_no_throw("--" + std::string(info.key)), nullptr);
}

TEST(ConfigOptions, PresetFileFlags_LaterOnesWin) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "mine.json";
  write_file_atomically(file, R"({"model": {"layers": 6, "hidden": 96}})");
  const RunConfig config = parse(
      {"--model.layers", "8", "--config", to_utf8(file), "--preset", "tiny", "--set", "batch.micro_batch=2"});
  EXPECT_EQ(config.model.layers, 8);
  EXPECT_EQ(config.model.hidden, 96);
  EXPECT_EQ(config.model.vocab, 2048);
  EXPECT_EQ(config.batch.micro_batch, 2);
}

TEST(ConfigOptions, FlagsAndSet_ApplyInCommandLineOrder) {
  EXPECT_EQ(parse({"--model.layers", "8", "--set", "model.layers=9"}).model.layers, 9);
  EXPECT_EQ(parse({"--set", "model.layers=9", "--model.layers=8"}).model.layers, 8);
  EXPECT_EQ(parse({"--model.layers", "1", "--model.layers", "2"}).model.layers, 2);
}

TEST(ConfigOptions, ListFlags_Repeated_AddUp) {
  const RunConfig config = parse({"--run.prompts", "Once, upon", "--data.sources", "a*0.5", "--run.prompts",
                                  "The", "--data.sources", "b"});
  EXPECT_THAT(config.run.prompts, ElementsAre("Once, upon", "The"));
  ASSERT_EQ(config.data.sources.size(), 2u);
  EXPECT_EQ(config.data.sources[1].path, "b");
}

TEST(ConfigOptions, NegativeAndEmptyValues_AreValues) {
  EXPECT_EQ(parse({"--schedule.lr", "-1"}).schedule.lr, -1);
  EXPECT_EQ(parse({"--data.validation", ""}).data.validation.size(), 0u);
}

TEST(ConfigOptions, BadValue_NamesTheSetting) {
  try {
    parse({"--model.layers", "many"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.what(), HasSubstr("model.layers"));
  }
}

TEST(ConfigOptions, Given_OnlyWithSettings) {
  CLI::App app;
  const ConfigOptions options(app);
  EXPECT_FALSE(options.given());
  app.parse(std::vector<std::string>{"8", "--model.layers"});
  EXPECT_TRUE(options.given());
}

TEST(ConfigOptions, MistypedFlag_SuggestsTheSetting) {
  EXPECT_THAT(flag_suggestions({"--model.layer", "3"}), HasSubstr("Did you mean --model.layers?"));
  EXPECT_THAT(flag_suggestions({"--modle.layers=3"}), HasSubstr("Did you mean --model.layers?"));
  EXPECT_EQ(flag_suggestions({"--wrong", "extra"}), "");
}

}  // namespace
}  // namespace lathe::cli
