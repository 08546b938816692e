// Presets: each is valid, differs from the defaults only where it says so, and has the size it claims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/config/config_json.h"
#include "core/config/derived.h"
#include "core/config/presets.h"
#include "core/config/resources.h"
#include "core/config/validate.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Counted by hand here, apart from core/model, so that neither can be wrong alone.
std::int64_t parameters(const RunConfig::Model& model) {
  const std::int64_t query = model.heads * head_dim(model);
  const std::int64_t key_value = 2 * kv_heads(model) * head_dim(model);
  const std::int64_t attention = model.hidden * (query + key_value) + query * model.hidden;
  const std::int64_t ffn = 3 * model.hidden * model.ffn;
  const std::int64_t norms = 2 * model.hidden + (model.qk_norm ? 2 * head_dim(model) : 0);
  const std::int64_t embeddings = model.vocab * model.hidden * (model.tied_embeddings ? 1 : 2);
  return embeddings + model.layers * (attention + ffn + norms) + model.hidden;
}

TEST(Presets, List_IsSortedBySizeAndSaysWhat) {
  std::vector<std::string> names;
  for (const PresetInfo& preset : list_presets()) {
    names.push_back(preset.name);
    EXPECT_FALSE(preset.about.empty()) << preset.name;
  }
  EXPECT_THAT(names, ElementsAre("tiny", "125m", "350m", "977m"));
}

TEST(Presets, Each_IsValidAndHoldsOnlyDifferences) {
  for (const PresetInfo& preset : list_presets()) {
    SCOPED_TRACE(preset.name);
    RunConfig config = load_preset(preset.name);
    nlohmann::json file = read_json_file(preset.path);
    file.erase("about");
    EXPECT_EQ(file, nlohmann::json(to_json_differences(config)));
    config.data.sources = {{"a", 1, 0}};
    EXPECT_EQ(validate(config, Purpose::Train), std::vector<Problem>{});
  }
}

TEST(Presets, Parameters_AreThoseOfTheirNames) {
  EXPECT_EQ(parameters(load_preset("977m").model), 976'770'816);
  EXPECT_EQ(parameters(load_preset("tiny").model), 1'066'112);
  EXPECT_EQ(parameters(load_preset("125m").model), 109'529'856);
  EXPECT_EQ(parameters(load_preset("350m").model), 341'099'520);
  EXPECT_EQ(padded_vocab(load_preset("977m").model), 32000);
  EXPECT_EQ(tokens_per_update(load_preset("977m")), 65536);
}

TEST(Presets, UnknownName_NamesTheKnown) {
  try {
    load_preset("7b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_THAT(error.what(), HasSubstr("125m, 350m, 977m, tiny"));
  }
}

#ifndef _WIN32  // setenv
TEST(Resources, EnvironmentVariable_IsFinal) {
  const TemporaryFolder folder;
  ASSERT_EQ(setenv("LATHE_RESOURCES", folder.path().c_str(), 1), 0);
  EXPECT_THROW(resources_folder(), Error);
  std::filesystem::create_directories(folder.path() / "presets");
  EXPECT_EQ(resources_folder(), folder.path());
  EXPECT_TRUE(list_presets().empty());
  unsetenv("LATHE_RESOURCES");
  EXPECT_TRUE(std::filesystem::is_directory(resources_folder() / "presets"));
}
#endif

}  // namespace
}  // namespace lathe
