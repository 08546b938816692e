// The order of the data: every window once an epoch, shares of a mix, exact seeking, masks and boundaries.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/data/dataset_writer.h"
#include "core/data/permutation.h"
#include "core/data/validation_set.h"
#include "core/data/window_sampler.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

// A dataset whose documents have the given lengths and whose k-th token is first + k, so that a token says
// where it stood. Mask bits, where asked for: 0 at every third token.
std::shared_ptr<const Dataset> counting_dataset(const std::filesystem::path& folder,
                                                std::vector<int64_t> lengths, int32_t first = 0,
                                                bool mask = false, int64_t vocab = 100000,
                                                int64_t shard_tokens = 1000) {
  DatasetManifest manifest;
  manifest.vocab = vocab;
  manifest.origin = "test";
  manifest.eos = 2;
  WriterOptions options;
  options.loss_mask = mask;
  options.validation_fraction = 0;
  options.shard_tokens = shard_tokens;
  DatasetWriter writer(folder, manifest, options);
  int32_t next = first;
  for (const int64_t length : lengths) {
    std::vector<int32_t> ids;
    std::vector<uint8_t> bits;
    for (int64_t i = 0; i < length; ++i, ++next) {
      ids.push_back(next);
      bits.push_back(next % 3 != 0);
    }
    writer.add({ids, mask ? std::span<const uint8_t>(bits) : std::span<const uint8_t>(), 0, false, true});
  }
  writer.finish("");
  return std::make_shared<Dataset>(folder);
}

class WindowSamplerTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_{"lathe-sampler"};
};

}  // namespace

TEST(Permutation, AnySize_VisitsEveryPlaceOnce) {
  for (const uint64_t n : {1u, 2u, 3u, 5u, 16u, 17u, 255u, 1000u, 4097u, 100003u}) {
    for (const uint64_t key : {0ull, 1ull, 0xfeedfacecafebeefull}) {
      const Permutation permutation(n, key);
      std::vector<bool> seen(n, false);
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t place = permutation(i);
        ASSERT_LT(place, n);
        ASSERT_FALSE(seen[place]) << "n " << n << " key " << key;
        seen[place] = true;
      }
    }
  }
}

TEST(Permutation, Neighbours_AreUnrelated) {
  // For a random order the mean distance of two neighbours is n / 3.
  const uint64_t n = 100000;
  const Permutation permutation(n, 42);
  double sum = 0;
  uint64_t ascending = 0;
  for (uint64_t i = 0; i + 1 < n; ++i) {
    const auto a = static_cast<double>(permutation(i)), b = static_cast<double>(permutation(i + 1));
    sum += std::abs(a - b);
    ascending += b > a;
  }
  EXPECT_NEAR(sum / static_cast<double>(n - 1), static_cast<double>(n) / 3, 500);
  EXPECT_NEAR(static_cast<double>(ascending) / static_cast<double>(n), 0.5, 0.01);
}

TEST_F(WindowSamplerTest, OneEpoch_HoldsEveryTargetOnce) {
  const auto dataset = counting_dataset(folder_.path() / "a", {700, 1, 299, 1001, 533});
  WindowSampler sampler({{"a", dataset, 1, 0}}, 32, 5);
  const int64_t windows = (2534 - 1) / 32;
  ASSERT_EQ(sampler.sources()[0].windows_per_epoch, windows);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<int32_t> targets;
    std::vector<int32_t> order;
    Batch batch;
    for (int64_t i = 0; i < windows; ++i) {
      sampler.next(1, batch);
      order.push_back(batch.tokens[0]);
      for (int64_t k = 0; k < 32; ++k) {
        ASSERT_EQ(batch.targets[k], batch.tokens[k] + 1);
        ASSERT_TRUE(targets.insert(batch.targets[k]).second);
      }
    }
    EXPECT_EQ(static_cast<int64_t>(targets.size()), windows * 32);
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(sampler.sources()[0].epoch, epoch + 1);
  }
  EXPECT_EQ(sampler.tokens_consumed(), 3 * windows * 32);
}

TEST_F(WindowSamplerTest, Documents_StartWhereTheIndexSays) {
  const auto dataset = counting_dataset(folder_.path() / "a", {10, 20, 1, 1, 500, 40, 3, 900});
  WindowSampler sampler({{"a", dataset, 1, 0}}, 64, 5);
  std::set<int64_t> starts = {0, 10, 30, 31, 32, 532, 572, 575};
  Batch batch;
  for (int i = 0; i < 40; ++i) {
    sampler.next(2, batch);
    for (int64_t row = 0; row < 2; ++row) {
      int64_t expected = 0;
      for (int64_t k = 0; k < 64; ++k) {
        if (k > 0 && starts.contains(batch.tokens[row * 64 + k])) expected = k;
        ASSERT_EQ(batch.document_start[row * 64 + k], expected);
      }
    }
  }
}

TEST_F(WindowSamplerTest, LossMask_HidesTargets) {
  const auto dataset = counting_dataset(folder_.path() / "a", {100, 2300}, 0, true);
  WindowSampler sampler({{"a", dataset, 1, 0}}, 50, 5);
  Batch batch;
  for (int i = 0; i < 30; ++i) {
    sampler.next(3, batch);
    int64_t valid = 0;
    for (size_t k = 0; k < batch.tokens.size(); ++k) {
      const int32_t next = batch.tokens[k] + 1;
      ASSERT_EQ(batch.targets[k], next % 3 == 0 ? -1 : next);
      valid += batch.targets[k] >= 0;
    }
    EXPECT_EQ(batch.valid_tokens, valid);
  }
}

TEST_F(WindowSamplerTest, Seek_AtAnyPositionOfAMix_GivesTheSameBatches) {
  const auto a = counting_dataset(folder_.path() / "a", {900, 1100});
  const auto b = counting_dataset(folder_.path() / "b", {400, 300}, 50000);
  const std::vector<MixEntry> mix = {
      {"a", a, 0.7, 0}, {"b", b, 0.3, 0}, {"b", b, 0.9, 20000}, {"a", a, 0, 60000}};
  WindowSampler straight(mix, 32, 11);
  std::vector<Batch> batches(1000);
  std::vector<std::string> cursors;
  for (Batch& batch : batches) {
    cursors.push_back(cursor_to_json(straight.cursor()).dump());
    straight.next(3, batch);
  }
  EXPECT_GE(straight.sources()[1].epoch, 2);
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const size_t at = random() % batches.size();
    WindowSampler sampler(mix, 32, 11);
    sampler.seek(cursor_from_json(nlohmann::json::parse(cursors[at])));
    Batch batch;
    for (size_t k = at; k < std::min(at + 5, batches.size()); ++k) {
      sampler.next(3, batch);
      ASSERT_EQ(batch.tokens, batches[k].tokens) << "position " << at;
      ASSERT_EQ(batch.document_start, batches[k].document_start);
    }
  }
  WindowSampler skipping(mix, 32, 11);
  skipping.skip(3 * 777);
  EXPECT_EQ(cursor_to_json(skipping.cursor()).dump(), cursors[777]);
}

TEST_F(WindowSamplerTest, Mix_KeepsItsShares) {
  std::vector<MixEntry> mix;
  const std::vector<double> weights = {5, 3, 1, 0.5, 0.5};
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    mix.push_back({name, counting_dataset(folder_.path() / name, {500}, static_cast<int32_t>(i) * 1000),
                   weights[i], 0});
  }
  WindowSampler sampler(mix, 16, 1);
  std::vector<double> taken(weights.size(), 0);
  Batch batch;
  double worst = 0;
  for (int n = 1; n <= 5000; ++n) {
    sampler.next(1, batch);
    ++taken[static_cast<size_t>(batch.tokens[0] / 1000)];
    for (size_t i = 0; i < weights.size(); ++i)
      worst = std::max(worst, std::abs(taken[i] - n * weights[i] / 10));
  }
  EXPECT_LT(worst, 2);
}

TEST_F(WindowSamplerTest, WeightsThatChange_ChangeAtTheirToken) {
  const auto a = counting_dataset(folder_.path() / "a", {500});
  const auto b = counting_dataset(folder_.path() / "b", {500}, 50000);
  WindowSampler sampler({{"a", a, 1, 0}, {"b", b, 1, 1600}, {"a", a, 0, 3200}}, 16, 1);
  Batch batch;
  int64_t from_b[3] = {0, 0, 0};
  for (int n = 0; n < 300; ++n) {
    sampler.next(1, batch);
    from_b[n / 100] += batch.tokens[0] >= 50000;
  }
  EXPECT_EQ(from_b[0], 0);
  EXPECT_EQ(from_b[1], 50);
  EXPECT_EQ(from_b[2], 100);
}

TEST_F(WindowSamplerTest, SeedAndEpoch_GiveOtherOrders) {
  const auto dataset = counting_dataset(folder_.path() / "a", {5000});
  const WindowSampler one({{"a", dataset, 1, 0}}, 16, 1), two({{"a", dataset, 1, 0}}, 16, 2);
  int same_seed = 0, same_epoch = 0;
  for (int64_t i = 0; i < 300; ++i) {
    same_seed += one.window_begin(0, 0, i) == two.window_begin(0, 0, i);
    same_epoch += one.window_begin(0, 0, i) == one.window_begin(0, 1, i);
  }
  EXPECT_LT(same_seed, 10);
  EXPECT_LT(same_epoch, 10);
}

// Counts whose sum or token position would overflow.
TEST_F(WindowSamplerTest, CursorAtTheLimits_IsRefused) {
  const auto a = counting_dataset(folder_.path() / "a", {5000});
  const auto b = counting_dataset(folder_.path() / "b", {5000}, 7);
  WindowSampler sampler({{"a", a, 1, 0}, {"b", b, 1, 0}}, 16, 1);
  for (const auto& [first, second, sum] :
       {std::tuple{INT64_MAX, INT64_MAX, int64_t{-2}}, std::tuple{INT64_MAX - 1, int64_t{1}, INT64_MAX},
        std::tuple{int64_t{1} << 58, int64_t{0}, int64_t{1} << 58}}) {
    Cursor cursor = sampler.cursor();
    cursor.sources[0].windows = first;
    cursor.sources[1].windows = second;
    cursor.windows = sum;
    EXPECT_THROW(sampler.seek(cursor), Error) << first << " " << second;
  }
}

TEST_F(WindowSamplerTest, ForeignCursor_IsRefusedWithTheReason) {
  const auto a = counting_dataset(folder_.path() / "a", {5000});
  const auto b = counting_dataset(folder_.path() / "b", {5000}, 7);
  WindowSampler sampler({{"a", a, 1, 0}}, 16, 1);
  const auto message = [&](WindowSampler&& other) {
    try {
      sampler.seek(other.cursor());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message(WindowSampler({{"a", a, 1, 0}}, 32, 1)).find("context"), std::string::npos);
  EXPECT_NE(message(WindowSampler({{"a", a, 1, 0}}, 16, 2)).find("shuffle_seed"), std::string::npos);
  EXPECT_NE(message(WindowSampler({{"b", b, 1, 0}}, 16, 1)).find("other content"), std::string::npos);
  EXPECT_NE(message(WindowSampler({{"a", a, 1, 0}, {"b", b, 1, 0}}, 16, 1)).find("2 sources"),
            std::string::npos);
  EXPECT_EQ(message(WindowSampler({{"moved", a, 1, 0}}, 16, 1)), "accepted");
}

TEST_F(WindowSamplerTest, MixesThatMakeNoSense_AreRefused) {
  const auto a = counting_dataset(folder_.path() / "a", {100});
  const auto other = counting_dataset(folder_.path() / "b", {100}, 0, false, 70000);
  const auto refused = [](std::vector<MixEntry> mix, int64_t context) {
    try {
      WindowSampler(std::move(mix), context, 1);
    } catch (const Error& error) {
      return error.code() == ErrorCode::InvalidArgument;
    }
    return false;
  };
  EXPECT_TRUE(refused({}, 16));
  EXPECT_TRUE(refused({{"a", a, 1, 0}}, 0));
  EXPECT_TRUE(refused({{"a", a, 1, 0}}, 100)) << "smaller than one window";
  EXPECT_FALSE(refused({{"a", a, 1, 0}}, 99));
  EXPECT_TRUE(refused({{"a", a, -1, 0}}, 16));
  EXPECT_TRUE(refused({{"a", a, 0, 0}}, 16));
  EXPECT_TRUE(refused({{"a", a, 1, 5000}}, 16)) << "nothing at the beginning";
  EXPECT_TRUE(refused({{"a", a, 1, 0}, {"a", a, 0, 5000}}, 16)) << "nothing later";
  EXPECT_TRUE(refused({{"a", a, 1, 0}, {"b", other, 1, 0}}, 16)) << "other vocabulary";
}

TEST_F(WindowSamplerTest, BrokenShard_LosesNoPosition) {
  const auto path = folder_.path() / "a";
  counting_dataset(path, {5000}, 0, false, 100000, 1 << 20);
  {
    std::string bytes = read_file(path / "train-00000.bin");
    for (size_t i = 0; i < 4; ++i) bytes[2500 * 4 + i] = '\x7f';  // an id far above the vocabulary
    DurableFile(path / "train-00000.bin", DurableFile::Open::Truncate).write(bytes);
  }
  WindowSampler sampler({{"a", std::make_shared<Dataset>(path), 1, 0}}, 16, 1);
  Batch batch;
  bool failed = false;
  for (int i = 0; i < 400 && !failed; ++i) {
    const Cursor before = sampler.cursor();
    try {
      sampler.next(1, batch);
    } catch (const Error& error) {
      failed = true;
      EXPECT_EQ(error.code(), ErrorCode::CorruptFile);
      EXPECT_EQ(sampler.cursor(), before);
    }
  }
  EXPECT_TRUE(failed);
}

TEST_F(WindowSamplerTest, WarmSampler_TakesMicrosecondsAndSeeksAtOnce) {
  const auto dataset =
      counting_dataset(folder_.path() / "a", std::vector<int64_t>(2000, 50), 0, false, 1 << 20, 1 << 20);
  WindowSampler sampler({{"a", dataset, 1, 0}}, 256, 1);
  Batch batch;
  sampler.next(8, batch);
  const int32_t* tokens = batch.tokens.data();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) sampler.next(8, batch);
  const double per_window =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / 4000;
  EXPECT_EQ(batch.tokens.data(), tokens) << "allocated again";
  EXPECT_LT(per_window, 100e-6);  // measured about 1 us; wide, for sanitizers and busy machines
  Cursor far = sampler.cursor();
  far.windows = far.sources[0].windows = int64_t{1} << 40;
  const auto seek_began = std::chrono::steady_clock::now();
  sampler.seek(far);
  sampler.next(1, batch);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - seek_began).count(), 0.01);
}

TEST_F(WindowSamplerTest, ValidationSet_IsWholeWindowsInOrder) {
  const auto dataset = counting_dataset(folder_.path() / "a", {60, 45});
  const ValidationSet all("a", dataset, 16, 0, Split::Train);
  EXPECT_EQ(all.windows(), 6);
  const ValidationSet first("a", dataset, 16, 40, Split::Train);
  EXPECT_EQ(first.windows(), 2);
  EXPECT_EQ(first.tokens(), 32);
  Batch batch;
  all.fill(4, 4, batch);  // two windows and two rows of padding
  EXPECT_EQ(batch.valid_tokens, 32);
  EXPECT_EQ(batch.tokens[0], 64);
  EXPECT_EQ(batch.targets[31], 96);
  EXPECT_EQ(batch.targets[32], -1);
  EXPECT_EQ(batch.tokens.size(), 64u);
}

TEST_F(WindowSamplerTest, ValidationSetShorterThanAWindow_IsPadded) {
  const auto dataset = counting_dataset(folder_.path() / "a", {6, 4});
  const ValidationSet set("a", dataset, 16, 1000, Split::Train);
  Batch batch;
  set.fill(0, 1, batch);
  EXPECT_EQ(set.windows(), 1);
  EXPECT_EQ(batch.valid_tokens, 9);
  EXPECT_EQ(batch.targets[8], 9);
  EXPECT_EQ(batch.targets[9], -1);
  EXPECT_EQ(batch.document_start[8], 6);
  EXPECT_THROW(ValidationSet("a", dataset, 16, 0), Error) << "no validation split";
}

}  // namespace lathe
