// The table of settings: its rows are well-formed, and every value survives text and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/config/condition.h"
#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/reference.h"
#include "core/config/validate.h"
#include "kernels/api/error.h"
#include "tests/unit/config_random.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;

TEST(ConfigTable, Rows_All_AreWellFormed) {
  std::set<std::string_view> keys;
  for (const SettingInfo& info : settings()) {
    SCOPED_TRACE(info.key);
    EXPECT_TRUE(keys.insert(info.key).second);
    EXPECT_EQ(info.key, std::string(info.section) + "." + std::string(info.name));
    EXPECT_FALSE(info.label.empty());
    EXPECT_TRUE(info.help.ends_with('.'));
    EXPECT_EQ(info.type == SettingType::Choice, !info.choices.empty());
    EXPECT_LE(info.range.low, info.range.high);
    if (info.enabled_if.empty()) continue;
    const Condition condition = parse_condition(info.enabled_if);
    const SettingInfo& other = require_setting(condition.key);
    for (const std::string& value : condition.values) {
      RunConfig config;
      EXPECT_NO_THROW(other.set_text(config, value));
      EXPECT_EQ(other.get_text(config, other.unit), value) << "not in canonical form";
    }
  }
}

TEST(ConfigTable, Defaults_AreValidAndAgreeWithTheStruct) {
  EXPECT_TRUE(validate(RunConfig{}).empty());
  EXPECT_EQ(get_text({}, "model.ffn"), "4736");
  EXPECT_EQ(get_text({}, "memory.vram_margin"), "512MiB");
  EXPECT_EQ(get_text({}, "memory.recompute"), "norms");
  EXPECT_EQ(get_text({}, "schedule.lr"), "3e-4");
  EXPECT_EQ(get_text({}, "optimizer.groups"), "*norm* weight_decay=0");
}

TEST(ConfigTable, RandomValues_ThroughText_ComeBackEqual) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const RunConfig config = test::random_values(seed);
    RunConfig copy;
    for (const auto& [key, text] : setting_rows(config)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + key + "=" + text);
      ASSERT_NO_THROW(apply_assignment(copy, key + "=" + text));
      ASSERT_TRUE(require_setting(key).equal(config, copy));
    }
    ASSERT_EQ(copy, config);
    ASSERT_TRUE(diff(copy, config).empty());
  }
}

TEST(ConfigTable, RandomValues_ThroughJson_ComeBackEqual) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunConfig config = test::random_values(seed);
    ASSERT_EQ(from_json_text(to_json(config).dump()), config);
    const RunConfig base = test::random_values(seed + 1000);
    ASSERT_EQ(from_json(to_json_differences(config, base), base), config);
  }
}

TEST(ConfigTable, ForEachSetting_VisitsRowsInOrderWithTheirFields) {
  RunConfig config;
  std::vector<std::string_view> keys;
  for_each_setting(config, [&](const SettingInfo& info, auto& value) {
    keys.push_back(info.key);
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, bool>) value = !value;
  });
  ASSERT_EQ(keys.size(), settings().size());
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(keys[i], settings()[i].key);
  EXPECT_FALSE(config.model.tied_embeddings);
  EXPECT_TRUE(config.run.init_states);
}

TEST(ConfigTable, Diff_TwoConfigs_NamesOnlyDifferences) {
  RunConfig other;
  other.model.layers = 12;
  other.memory.vram_budget = {false, std::int64_t{15} << 30};
  EXPECT_THAT(diff({}, other),
              ::testing::ElementsAre(SettingDifference{"model.layers", "24", "12"},
                                     SettingDifference{"memory.vram_budget", "auto", "15GiB"}));
}

TEST(ConfigTable, IsEnabled_FollowsTheOtherSetting) {
  RunConfig config;
  const SettingInfo& decay = require_setting("schedule.decay");
  EXPECT_FALSE(is_enabled(config, decay));
  config.schedule.kind = Schedule::Wsd;
  EXPECT_TRUE(is_enabled(config, decay));
  EXPECT_FALSE(is_enabled(config, require_setting("run.init_states")));
  config.run.init_from = "first";
  EXPECT_TRUE(is_enabled(config, require_setting("run.init_states")));
}

TEST(ConfigTable, ConditionWords_ReadAsASentence) {
  EXPECT_EQ(condition_words(parse_condition("run.init_from!=")), "run.init_from is not empty");
  EXPECT_EQ(condition_words(parse_condition("schedule.kind=wsd|cosine")), "schedule.kind is wsd or cosine");
  EXPECT_THROW(parse_condition("schedule.kind"), Error);
  EXPECT_THROW(parse_condition("schedule.sort=wsd"), Error);
}

TEST(ConfigTable, UnitText_FollowsTheScheduleUnit) {
  RunConfig config;
  EXPECT_EQ(unit_text(config, require_setting("schedule.warmup")), "updates");
  config.schedule.unit = ScheduleUnit::Tokens;
  EXPECT_EQ(unit_text(config, require_setting("schedule.warmup")), "tokens");
  EXPECT_EQ(unit_text(config, require_setting("memory.vram_margin")), "bytes");
}

TEST(ConfigTable, UnknownKey_NamesTheNearest) {
  EXPECT_EQ(nearest_key("model.layer"), "model.layers");
  EXPECT_EQ(nearest_key("layers"), "model.layers");
  EXPECT_EQ(nearest_key("model.hiden"), "model.hidden");
  EXPECT_EQ(nearest_key("hidden_size"), "model.hidden");
  EXPECT_EQ(nearest_key("optimizer.warmup"), "schedule.warmup");
  EXPECT_EQ(nearest_key("acumulation"), "batch.accumulation");
  EXPECT_EQ(nearest_key("zzzzzzzzzzzzzzzz"), "");
  try {
    get_text({}, "batch.micro_bach");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.what_to_do(), HasSubstr("'batch.micro_batch'"));
  }
}

TEST(ConfigTable, SetText_BadValue_NamesKeyAndLeavesConfig) {
  for (const auto& [key, text] :
       std::vector<std::pair<std::string, std::string>>{{"model.layers", "many"},
                                                        {"model.layers", "2.5"},
                                                        {"memory.vram_margin", "15GB"},
                                                        {"schedule.lr", "inf"},
                                                        {"precision.compute", "fp64"},
                                                        {"model.qk_norm", "maybe"},
                                                        {"memory.recompute", "norms*99999999999"},
                                                        {"memory.recompute", ""},
                                                        {"data.sources", "[{]"},
                                                        {"data.sources", "*0.5"},
                                                        {"optimizer.groups", "weight_decay=1"},
                                                        {"optimizer.groups", "*norm* lr=1"},
                                                        {"run.name", "\xff"},
                                                        {"data.validation", "[1]"}}) {
    SCOPED_TRACE(key + "=" + text);
    RunConfig config;
    try {
      set_text(config, key, text);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
      EXPECT_TRUE(std::string(error.what_happened()).starts_with(key + ": "));
    }
    EXPECT_EQ(config, RunConfig{});
  }
}

TEST(ConfigTable, SetText_RandomText_IsTakenOrRefusedNeverMore) {
  test::RandomValue random(7);
  for (int i = 0; i < 20000; ++i) {
    const SettingInfo& info = settings()[random.below(settings().size())];
    std::string text = random.text();
    if (random.one_in(3)) text = info.get_text(test::random_values(random.below(50)), info.unit);
    if (!text.empty() && random.one_in(2))
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    RunConfig config;
    try {
      set_text(config, info.key, text);
      const std::string canonical = info.get_text(config, info.unit);
      RunConfig copy;
      set_text(copy, info.key, canonical);
      ASSERT_TRUE(info.equal(config, copy)) << info.key << "=" << text;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::InvalidConfig) << info.key << "=" << text;
    }
  }
}

TEST(ConfigTable, Sources_Shorthand_ReadsWeightAndStart) {
  RunConfig config;
  set_text(config, "data.sources", "web*0.7, me@host/books*0.3@1G");
  ASSERT_EQ(config.data.sources.size(), 2u);
  EXPECT_EQ(config.data.sources[0], (DataSource{"web", 0.7, 0}));
  EXPECT_EQ(config.data.sources[1], (DataSource{"me@host/books", 0.3, std::int64_t{1} << 30}));
}

TEST(ConfigTable, Recompute_List_ReadsRuns) {
  RunConfig config;
  set_text(config, "memory.recompute", "norms*2, gate_up");
  EXPECT_THAT(config.memory.recompute.levels,
              ::testing::ElementsAre(RecomputeLevel::Norms, RecomputeLevel::Norms, RecomputeLevel::GateUp));
  EXPECT_EQ(get_text(config, "memory.recompute"), "norms*2,gate_up*1");
  set_text(config, "memory.recompute", "auto");
  EXPECT_TRUE(config.memory.recompute.automatic);
}

TEST(ConfigReference, Search_KeySectionAndWords_FindTheirs) {
  EXPECT_EQ(search_settings("").size(), settings().size());
  ASSERT_EQ(search_settings("model.layers").size(), 1u);
  for (const SettingInfo* info : search_settings("optimizer")) EXPECT_EQ(info->section, "optimizer");
  const auto found = search_settings("Weight DECAY");
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [](const SettingInfo* info) { return info->key == "optimizer.weight_decay"; }));
  EXPECT_TRUE(search_settings("no such thing").empty());
}

TEST(ConfigReference, Forms_All_NameEverySetting) {
  const auto all = search_settings("");
  const std::string text = reference_text(all);
  const std::string markdown = reference_markdown(all);
  const auto json = reference_json(all);
  ASSERT_EQ(json.size(), settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const std::string key(settings()[i].key);
    EXPECT_THAT(text, HasSubstr("  " + key + " = "));
    EXPECT_THAT(markdown, HasSubstr("| `" + key + "` |"));
    EXPECT_EQ(json[i].at("key"), key);
    EXPECT_EQ(json[i].at("default"),
              to_json({}).at(std::string(settings()[i].section)).at(std::string(settings()[i].name)));
  }
}

}  // namespace
}  // namespace lathe
