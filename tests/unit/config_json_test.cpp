// Settings as JSON: mistakes are named, all at once, and nothing in a file can crash the reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/setting_info.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "tests/unit/config_random.h"

namespace lathe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string message_of(std::string_view json) {
  try {
    from_json_text(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    return error.what();
  }
  return "accepted";
}

TEST(ConfigJson, MissingSettings_KeepTheBase) {
  RunConfig base;
  base.model.layers = 3;
  const RunConfig config = from_json_text(R"({"about": "a test", "model": {"hidden": 64}})", base);
  EXPECT_EQ(config.model.layers, 3);
  EXPECT_EQ(config.model.hidden, 64);
  EXPECT_EQ(from_json_text("{}"), RunConfig{});
}

TEST(ConfigJson, UnknownKey_NamesTheNearest) {
  EXPECT_THAT(message_of(R"({"model": {"layer": 3}})"),
              AllOf(HasSubstr("'model.layer'"), HasSubstr("'model.layers'")));
  EXPECT_THAT(message_of(R"({"modle": {"layers": 3}})"), AllOf(HasSubstr("'modle'"), HasSubstr("'model'")));
  EXPECT_THAT(message_of(R"({"layers": 3})"), AllOf(HasSubstr("'layers'"), HasSubstr("'model.layers'")));
  EXPECT_THAT(
      message_of(R"({"data": {"sources": [{"path": "a", "wieght": 1}]}})"),
      AllOf(HasSubstr("data.sources"), HasSubstr("entry 1"), HasSubstr("'wieght'"), HasSubstr("'weight'")));
}

TEST(ConfigJson, WrongType_IsNamed) {
  EXPECT_THAT(message_of(R"({"model": {"layers": true}})"),
              AllOf(HasSubstr("model.layers"), HasSubstr("whole number")));
  EXPECT_THAT(message_of(R"({"model": {"layers": 2.5}})"), HasSubstr("model.layers"));
  EXPECT_THAT(message_of(R"({"model": {"tied_embeddings": 1}})"), HasSubstr("true or false"));
  EXPECT_THAT(message_of(R"({"schedule": {"lr": "fast"}})"), HasSubstr("schedule.lr"));
  EXPECT_THAT(message_of(R"({"precision": {"compute": "fp64"}})"),
              AllOf(HasSubstr("fp64"), HasSubstr("fp32 or bf16")));
  EXPECT_THAT(message_of(R"({"precision": {"compute": 32}})"), HasSubstr("one of fp32 or bf16"));
  EXPECT_THAT(message_of(R"({"model": 3})"), HasSubstr("model: expected an object"));
  EXPECT_THAT(message_of(R"({"data": {"sources": [{"weight": 1}]}})"), HasSubstr("path"));
  EXPECT_THAT(message_of(R"({"data": {"validation": "one"}})"), HasSubstr("list of texts"));
  EXPECT_THAT(message_of("[]"), HasSubstr("type array"));
  EXPECT_THAT(message_of(R"({"model": {"layers": 18446744073709551615}})"), HasSubstr("below 2^63"));
}

TEST(ConfigJson, Sizes_AsTextOrNumber_AreAccepted) {
  const RunConfig config = from_json_text(
      R"({"memory": {"vram_budget": "15GiB", "vram_margin": "256MiB"}, "run": {"tokens": 2e9, "eval_tokens": "64k"}})");
  EXPECT_EQ(config.memory.vram_budget, (AutoInt{false, std::int64_t{15} << 30}));
  EXPECT_EQ(config.memory.vram_margin, 256 << 20);
  EXPECT_EQ(config.run.tokens, 2000000000);
  EXPECT_EQ(config.run.eval_tokens, 65536);
}

TEST(ConfigJson, SeveralMistakes_AreAllReported) {
  EXPECT_THAT(message_of(R"({"model": {"layer": 1, "heads": "x"}, "rnu": {}, "loss": {"z_loss": []}})"),
              AllOf(HasSubstr("4 problems"), HasSubstr("model.layer"), HasSubstr("model.heads"),
                    HasSubstr("rnu"), HasSubstr("loss.z_loss")));
}

TEST(ConfigJson, Malformed_NamesLineAndColumn) {
  EXPECT_THAT(message_of("{\n  \"model\": {,}\n}"), AllOf(HasSubstr("line 2"), HasSubstr("column")));
  EXPECT_THAT(message_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(message_of("{\"model\": \"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(message_of(R"({"model": {"layers": 1, "layers": 2}})"), HasSubstr("'layers' is given twice"));
  EXPECT_EQ(message_of(R"({"model": {"layers": 1}, "batch": {"micro_batch": 2}})"), "accepted");
}

TEST(ConfigJson, DeepNesting_IsRefusedWithoutRecursion) {
  const std::string deep(1000000, '[');
  EXPECT_THAT(message_of(deep), HasSubstr("nested deeper"));
  EXPECT_THAT(message_of(std::string("{\"model\": {\"layers\": ").append(deep)), HasSubstr("nested deeper"));
  // In a text that is read as JSON in its turn.
  RunConfig config;
  EXPECT_THROW(require_setting("data.validation").set_text(config, deep), Error);
}

TEST(ConfigJson, File_SavedAndLoaded_IsEqual) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "settings.json";
  const RunConfig config = test::random_values(3);
  save_config(config, path);
  EXPECT_EQ(load_config(path), config);
}

TEST(ConfigJson, File_MissingOrBroken_IsNamed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "settings.json";
  try {
    load_config(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_THAT(error.what(), HasSubstr("settings.json"));
  }
  write_file_atomically(path, "{\"model\": {\"layers\": 3");
  try {
    load_config(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("settings.json"), HasSubstr("line 1")));
  }
}

}  // namespace
}  // namespace lathe
