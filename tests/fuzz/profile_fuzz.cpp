// The profile beside a run's checkpoints under the fuzzer.
#include <gtest/gtest.h>

#include "core/experiment/profile.h"
#include "core/platform/files.h"
#include "tests/fuzz/fuzz.h"

namespace lathe {
namespace {

TEST(ProfileFuzz, Profile_Mutated_IsReadOrRefused) {
  SequenceProfile micro;
  micro.wall_ms = 2;
  micro.sum_ms = 1.5;
  micro.ops = {{0, OpKind::Linear, 3, Phase::Forward, 1, 0.9, 1e9, 1e6},
               {1, OpKind::SwiGlu, kNone, Phase::Recompute, 0.5, 0.4, 0, 1e6}};
  Profile profile;
  profile.device = "GPU";
  profile.sequences = {micro};
  const TemporaryFolder folder("profile-fuzz", testing::fuzz_folder());
  const auto path = folder.path() / kProfileFile;
  testing::fuzz(
      "profile", {to_json(profile).dump(1)},
      [&](const std::string& input) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << input;
        size_t rows = 0;
        for (const SequenceProfile& sequence : read_profile(path).sequences) {
          for (const ProfileBy by : {ProfileBy::Kind, ProfileBy::Layer, ProfileBy::Phase})
            rows += profile_rows(sequence, by).size();
        }
        return std::to_string(rows) + " rows";
      },
      {.words = {"null", "-1", "1e999", "[]", "{}", "\"forward\"", "\"linear\"", std::string(70, '[')}});
}

}  // namespace
}  // namespace lathe
