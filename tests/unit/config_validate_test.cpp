// Validation: every rule names its setting, all problems come at once, and no values make it fall over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/derived.h"
#include "core/config/validate.h"
#include "kernels/api/error.h"
#include "tests/unit/config_random.h"

namespace lathe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> keys_of(const std::vector<Problem>& problems) {
  std::vector<std::string> keys;
  for (const Problem& problem : problems) keys.push_back(problem.key);
  return keys;
}

// The problems of the defaults after these settings; each must explain itself.
std::vector<std::string> problem_keys(const std::vector<std::string>& assignments,
                                      Purpose purpose = Purpose::Estimate) {
  RunConfig config;
  for (const std::string& assignment : assignments) apply_assignment(config, assignment);
  const auto problems = validate(config, purpose);
  for (const Problem& problem : problems) {
    EXPECT_NE(find_setting(problem.key), nullptr) << problem.key;
    EXPECT_THAT(problem.message,
                HasSubstr(problem.key == "model.head_dim" ? "head" : problem.key.substr(0, 4)));
    EXPECT_FALSE(problem.advice.empty());
  }
  return keys_of(problems);
}

using Keys = std::vector<std::string>;

TEST(ConfigValidate, Rules_Broken_NameTheSetting) {
  EXPECT_EQ(problem_keys({"model.kv_heads=5"}), Keys{"model.kv_heads"});
  EXPECT_EQ(problem_keys({"model.kv_heads=32"}), Keys{"model.kv_heads"});
  EXPECT_EQ(problem_keys({"model.head_dim=63"}), Keys{"model.head_dim"});
  EXPECT_EQ(problem_keys({"model.hidden=1000"}), Keys{"model.head_dim"});
  EXPECT_EQ(problem_keys({"model.hidden=1000", "model.head_dim=64"}), Keys{});
  EXPECT_EQ(problem_keys({"memory.recompute=norms*18,gate_up*5"}), Keys{"memory.recompute"});
  EXPECT_EQ(problem_keys({"memory.recompute=norms*18,gate_up*6"}), Keys{});
  EXPECT_EQ(problem_keys({"precision.compute=fp32"}), Keys{"precision.weights"});
  EXPECT_EQ(problem_keys({"precision.compute=fp32", "precision.weights=fp32"}), Keys{});
  EXPECT_EQ(problem_keys({"precision.master=split"}), Keys{});
  EXPECT_EQ(problem_keys({"precision.master=split", "precision.weights=fp32"}), Keys{"precision.master"});
  EXPECT_EQ(problem_keys({"data.sources=a*0,b*0"}), Keys{"data.sources"});
  EXPECT_EQ(problem_keys({"data.sources=a*1@1k"}), Keys{"data.sources"});
  EXPECT_EQ(problem_keys({"data.sources=a,a*0@1k"}), Keys{"data.sources"});
  EXPECT_EQ(problem_keys({"data.sources=a,a*0.5"}), Keys{"data.sources"});
  EXPECT_EQ(problem_keys({"data.sources=a,b*0.5,a*0@1k"}), Keys{});
  EXPECT_EQ(problem_keys({"data.sources=a*-1,b"}), Keys{"data.sources"});
  EXPECT_EQ(problem_keys({"data.validation=[\"a\",\"\"]"}), Keys{"data.validation"});
  EXPECT_EQ(problem_keys({"optimizer.groups=*norm* weight_decay=-1; embed* lr_factor=-2"}),
            (Keys{"optimizer.groups", "optimizer.groups"}));
  EXPECT_EQ(problem_keys({"schedule.length=50"}), Keys{"schedule.warmup"});
  EXPECT_EQ(problem_keys({"run.updates=50"}), Keys{"schedule.warmup"});
  EXPECT_EQ(problem_keys({"run.updates=50", "schedule.kind=constant"}), Keys{});
  EXPECT_EQ(problem_keys({"schedule.kind=wsd", "schedule.length=1000", "schedule.decay=950"}),
            Keys{"schedule.decay"});
  EXPECT_EQ(problem_keys({"schedule.kind=wsd", "schedule.length=1000"}), Keys{});
  EXPECT_EQ(problem_keys({"run.eval_tokens=100"}), Keys{"run.eval_tokens"});
  EXPECT_EQ(problem_keys({"run.keep_every=750"}), Keys{"run.keep_every"});
  EXPECT_EQ(problem_keys({"run.keep_every=1000"}), Keys{});
  EXPECT_EQ(problem_keys({"guard.non_finite=rollback", "run.checkpoint_every=0"}), Keys{"guard.non_finite"});
  EXPECT_EQ(problem_keys({"run.init_states=true"}), Keys{"run.init_states"});
  EXPECT_EQ(problem_keys({"run.init_from=first@soon"}), Keys{"run.init_from"});
  EXPECT_EQ(problem_keys({"run.init_from=first@100", "run.init_states=true"}), Keys{});
}

TEST(ConfigValidate, Training_NeedsDataAndAnEnd) {
  EXPECT_EQ(problem_keys({}, Purpose::Train), (Keys{"data.sources", "run.updates"}));
  EXPECT_EQ(problem_keys({"data.sources=a", "run.updates=1000"}, Purpose::Train), Keys{});
  EXPECT_EQ(problem_keys({"data.sources=a", "run.wall_minutes=5"}, Purpose::Train), Keys{"schedule.length"});
  EXPECT_EQ(problem_keys({"data.sources=a", "run.wall_minutes=5", "schedule.kind=constant"}, Purpose::Train),
            Keys{});
}

TEST(ConfigValidate, OutOfRange_EveryNumber_NamesItself) {
  int checked = 0;
  for (const SettingInfo& info : settings()) {
    if (!info.range.bounded()) continue;
    SCOPED_TRACE(info.key);
    for (const double bad :
         {info.range.low - 1, info.range.high + 1, info.range.high_open ? info.range.high : NAN}) {
      if (std::isinf(bad) || (std::isnan(bad) && info.type != SettingType::Real)) continue;
      RunConfig config;
      for_each_setting(config, [&](const SettingInfo& other, auto& value) {
        using Value = std::remove_reference_t<decltype(value)>;
        if (other.key != info.key) return;
        if constexpr (std::is_same_v<Value, double>) value = bad;
        if constexpr (std::is_same_v<Value, std::int64_t>) value = static_cast<std::int64_t>(bad);
        if constexpr (std::is_same_v<Value, AutoInt>) value = {false, static_cast<std::int64_t>(bad)};
      });
      const auto problems = validate(config);
      ASSERT_FALSE(problems.empty()) << bad;
      EXPECT_EQ(problems.front().key, info.key);
      ++checked;
    }
  }
  EXPECT_GT(checked, 60);
}

TEST(ConfigValidate, SeveralProblems_AreReportedTogether) {
  RunConfig config;
  config.model.kv_heads = 5;
  config.batch.micro_batch = 0;
  config.optimizer.beta2 = 1;
  config.precision.compute = Compute::Fp32;
  EXPECT_THAT(keys_of(validate(config)),
              ::testing::UnorderedElementsAre("model.kv_heads", "batch.micro_batch", "optimizer.beta2",
                                              "precision.weights"));
  try {
    require_valid(config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("4 settings"), HasSubstr("model.kv_heads (5)"),
                                    HasSubstr("batch.micro_batch"), HasSubstr("optimizer.beta2"),
                                    HasSubstr("precision.weights")));
  }
}

// One random way to break a valid configuration, and the setting that must be named for it.
TEST(ConfigValidate, FiftyRandomInvalidConfigs_NameTheBrokenSetting) {
  const std::uint64_t first_seed = 100;
  for (std::uint64_t seed = first_seed; seed < first_seed + 50; ++seed) {
    test::RandomValue random(seed);
    std::vector<const SettingInfo*> numbers;
    for (const SettingInfo& info : settings()) {
      if (info.range.bounded()) numbers.push_back(&info);
    }
    RunConfig config;
    std::vector<std::string> broken;
    for (std::size_t n = 1 + random.below(4); n > 0; --n) {
      const SettingInfo& info = *numbers[random.below(numbers.size())];
      set_text(config, info.key, random.one_in(2) || std::isinf(info.range.high) ? "-1000" : "4e18");
      broken.emplace_back(info.key);
    }
    const auto keys = keys_of(validate(config));
    for (const std::string& key : broken) {
      EXPECT_THAT(keys, ::testing::Contains(key)) << "seed " << seed;
    }
    EXPECT_THROW(require_valid(config), Error) << "seed " << seed;
  }
}

// Values no reader would let in, as a program might set them: problems, never a crash.
class WildValue {
 public:
  explicit WildValue(std::uint64_t seed) : random_(seed) {}
  void operator()(const SettingInfo&, std::int64_t& value) {
    value = std::vector<std::int64_t>{INT64_MIN, -1, 0, 1, 2, 7, INT64_MAX}[random_.below(7)];
  }
  void operator()(const SettingInfo&, double& value) {
    value = std::vector<double>{NAN, INFINITY, -INFINITY, -1, 0, 0.5, 1e308, 5e-324}[random_.below(8)];
  }
  void operator()(const SettingInfo&, std::string& value) {
    value = std::vector<std::string>{"", "\xff\xfe", std::string(1, '\0'), "a@", "@1"}[random_.below(5)];
  }
  void operator()(const SettingInfo& info, AutoInt& value) {
    value.automatic = random_.one_in(2);
    (*this)(info, value.value);
  }
  void operator()(const SettingInfo&, RecomputeSetting& value) {
    value.automatic = random_.one_in(3);
    value.levels.assign(random_.below(3), static_cast<RecomputeLevel>(random_.below(9)));
  }
  void operator()(const SettingInfo& info, std::vector<std::string>& value) {
    value.resize(random_.below(3));
    for (std::string& item : value) (*this)(info, item);
  }
  void operator()(const SettingInfo& info, std::vector<DataSource>& value) {
    value.resize(random_.below(4));
    for (DataSource& source : value) {
      (*this)(info, source.path);
      (*this)(info, source.weight);
      (*this)(info, source.from_tokens);
    }
  }
  void operator()(const SettingInfo& info, std::vector<ParameterRule>& value) {
    value.resize(random_.below(3));
    for (ParameterRule& rule : value) {
      (*this)(info, rule.match);
      (*this)(info, rule.lr_factor);
      (*this)(info, rule.weight_decay.emplace());
    }
  }
  void operator()(const SettingInfo&, bool& value) { value = random_.one_in(2); }
  template <ChoiceEnum Enum>
  void operator()(const SettingInfo&, Enum& value) {
    value = static_cast<Enum>(random_.below(8));
  }

 private:
  test::RandomValue random_;
};

TEST(ConfigValidate, WildValues_GiveProblemsNeverACrash) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    RunConfig config;
    for_each_setting(config, WildValue(seed));
    ASSERT_FALSE(validate(config, Purpose::Train).empty()) << "seed " << seed;
    for (const Problem& problem : validate(config))
      ASSERT_NE(find_setting(problem.key), nullptr) << problem.key;
    ASSERT_FALSE(setting_rows(config).empty());
  }
}

TEST(ConfigDerived, Zeros_ResolveToTheirMeaning) {
  RunConfig config;
  EXPECT_EQ(kv_heads(config.model), 16);
  EXPECT_EQ(head_dim(config.model), 112);
  EXPECT_EQ(padded_vocab(config.model), 32000);
  config.model.vocab = 32001;
  EXPECT_EQ(padded_vocab(config.model), 32128);
  config.model.vocab_pad = 1;
  EXPECT_EQ(padded_vocab(config.model), 32001);
  EXPECT_EQ(tokens_per_update(config), 65536);
  EXPECT_TRUE(has_separate_master(config));
  config.precision.weights = Storage::Fp32;
  EXPECT_FALSE(has_separate_master(config));
}

TEST(ConfigDerived, RecomputeLevel_AllListAndAutomatic) {
  RunConfig config;
  EXPECT_EQ(recompute_level(config, 23), RecomputeLevel::Norms);
  set_text(config, "memory.recompute", "none*1,block*23");
  EXPECT_EQ(recompute_level(config, 0), RecomputeLevel::None);
  EXPECT_EQ(recompute_level(config, 23), RecomputeLevel::Block);
  EXPECT_THROW(recompute_level(config, 24), Error);
  set_text(config, "memory.recompute", "auto");
  EXPECT_THROW(recompute_level(config, 0), Error);
}

TEST(ConfigDerived, Length_FollowsLimits) {
  RunConfig config;
  EXPECT_EQ(last_update(config), std::nullopt);
  EXPECT_EQ(schedule_length(config), std::nullopt);
  config.run.tokens = 65537;
  EXPECT_EQ(last_update(config), 2);
  config.run.updates = 1;
  EXPECT_EQ(last_update(config), 1);
  config.schedule.unit = ScheduleUnit::Tokens;
  EXPECT_EQ(schedule_length(config), 65536);
  config.run.tokens = 0;
  config.run.updates = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(schedule_length(config), std::numeric_limits<std::int64_t>::max());
  config.schedule.length = 500;
  EXPECT_EQ(schedule_length(config), 500);
  EXPECT_EQ(decay_length(config, 500), 50);
  EXPECT_EQ(decay_length(config, 5), 1);
}

}  // namespace
}  // namespace lathe
