// The cached encoder against plain SentencePiece, for every sort of model; streaming decode against whole
// decode.
#include "core/data/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <map>
#include <random>

#include "core/data/tokenizer_training.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "tests/unit/data_support.h"

namespace lathe {

namespace {

constexpr unsigned seed = 7;

class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t at_ = 0;
};

// A model trained by SentencePiece itself with settings other than ours.
std::string train_with(std::unordered_map<std::string, std::string> settings) {
  LineSample sample(1 << 20);
  sample.add(std::string_view(testing::sample_corpus()).substr(0, 150000));
  settings.insert({{"vocab_size", "600"}, {"model_type", "bpe"}, {"minloglevel", "2"}});
  Lines lines(sample.lines());
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &lines, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

// Text with everything that could trip a cutter: runs of spaces, tabs, line ends, U+2581 itself, combining
// marks, spaces of other kinds, emoji with joiners, right-to-left text, NUL, and (sometimes) broken UTF-8.
std::string odd_text(std::mt19937& random, bool broken) {
  static const std::vector<std::string> parts = {" ",
                                                 "  ",
                                                 "     ",
                                                 "\n",
                                                 "\n\n",
                                                 "\t",
                                                 "\r\n",
                                                 "\xC2\xA0",
                                                 "\xE3\x80\x80",
                                                 "\xE2\x80\x8B",
                                                 "\xE2\x96\x81",
                                                 " \xE2\x96\x81 ",
                                                 "e\xCC\x81",
                                                 "caf\xC3\xA9",
                                                 "na\xC3\xAFve",
                                                 "\xEF\xBC\xA1\xEF\xBC\xA2",
                                                 "\xEF\xAC\x81",
                                                 "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E",
                                                 "\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82",
                                                 "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
                                                 "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB",
                                                 "\xF0\x9D\x94\x98",
                                                 "1234567",
                                                 "3.14",
                                                 "--",
                                                 "...",
                                                 "\"",
                                                 "'s",
                                                 ";",
                                                 "<s>",
                                                 "</s>",
                                                 "<unk>",
                                                 "<0x0A>",
                                                 "<sep>",
                                                 "foo bar",
                                                 "Mr.",
                                                 "the",
                                                 "The",
                                                 "and",
                                                 "Elizabeth",
                                                 "xq",
                                                 "zzz",
                                                 std::string(1, '\0'),
                                                 "a",
                                                 "I",
                                                 "_",
                                                 "\xC2\xA8",
                                                 "\xEF\xB7\xBA"};
  static const std::vector<std::string> broken_parts = {"\xFF", "\xC3", "\xE2\x96",
                                                        "\xE2", "\x80", "\xF0\x9F"};
  std::string text;
  for (size_t i = 0, count = 1 + random() % 24; i < count; ++i) {
    if (random() % 3 == 0) {
      const size_t at = random() % (testing::sample_corpus().size() - 100);
      text += testing::sample_corpus().substr(at, 1 + random() % 60);
    } else if (broken && random() % 6 == 0) {
      text += broken_parts[random() % broken_parts.size()];
    } else {
      text += parts[random() % parts.size()];
    }
  }
  return text;
}

void expect_same_ids(const std::string& model, bool expect_cached, const std::string& what) {
  sentencepiece::SentencePieceProcessor plain;
  ASSERT_TRUE(plain.LoadFromSerializedProto(model).ok());
  const Tokenizer tokenizer = Tokenizer::from_bytes(model);
  CachedEncoder encoder(tokenizer);
  EXPECT_EQ(encoder.caches(), expect_cached) << what;
  std::mt19937 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = odd_text(random, i % 4 == 0);
    std::vector<int> expected;
    ASSERT_TRUE(plain.Encode(text, &expected).ok());
    std::vector<int32_t> ids;
    encoder.encode(text, ids);
    ASSERT_EQ(ids, expected) << what << ", text " << i << " (seed " << seed << "): " << text;
  }
  if (expect_cached) {
    EXPECT_GT(encoder.hits(), encoder.misses()) << what;
  }
}

}  // namespace

TEST(CachedEncoder, OwnModel_GivesSentencePieceIds) {
  expect_same_ids(testing::small_tokenizer().model_bytes(), true, "own");
}

TEST(CachedEncoder, ModelsThatCanBeCut_GiveSentencePieceIds) {
  const std::unordered_map<std::string, std::string> base = {{"normalization_rule_name", "identity"},
                                                             {"remove_extra_whitespaces", "false"}};
  const auto with = [&](std::unordered_map<std::string, std::string> more) {
    more.insert(base.begin(), base.end());
    return train_with(std::move(more));
  };
  expect_same_ids(with({{"byte_fallback", "true"}}), true, "byte fallback");
  expect_same_ids(with({}), true, "unknown pieces");
  expect_same_ids(with({{"add_dummy_prefix", "false"}, {"byte_fallback", "true"}}), true, "no dummy prefix");
  expect_same_ids(with({{"split_by_whitespace", "false"}, {"byte_fallback", "true"}}), true,
                  "pieces across words");
  expect_same_ids(with({{"user_defined_symbols", "<sep>,foo bar,\n\n,Mr."}, {"byte_fallback", "true"}}), true,
                  "user-defined symbols");
  expect_same_ids(with({{"allow_whitespace_only_pieces", "true"}, {"split_by_unicode_script", "false"}}),
                  true, "whitespace pieces");
}

TEST(CachedEncoder, ModelsThatCannotBeCut_GoToSentencePiece) {
  expect_same_ids(train_with({}), false, "NMT NFKC");
  expect_same_ids(train_with({{"model_type", "unigram"}, {"normalization_rule_name", "identity"}}), false,
                  "unigram");
  expect_same_ids(train_with({{"treat_whitespace_as_suffix", "true"},
                              {"normalization_rule_name", "identity"},
                              {"remove_extra_whitespaces", "false"}}),
                  false, "whitespace as suffix");
}

TEST(CachedEncoder, ManyDifferentWords_StartsAnewWithoutAChange) {
  const Tokenizer& tokenizer = testing::small_tokenizer();
  CachedEncoder encoder(tokenizer);
  std::vector<int32_t> ids;
  for (int i = 0; i < 140000; ++i) {  // more than the cache holds
    ids.clear();
    const std::string word = fmt::format("w{}", i * 7919);
    encoder.encode(word, ids);
    if (i % 1000 == 0) {
      ASSERT_EQ(ids, tokenizer.encode(word));
    }
  }
}

TEST(CachedEncoder, TextContinuedAtALineEnd_EqualsTheWhole) {
  CachedEncoder encoder(testing::small_tokenizer());
  const std::string& corpus = testing::sample_corpus();
  const std::string whole = corpus.substr(5000, 20000);
  std::vector<int32_t> expected, parts;
  encoder.encode(whole, expected);
  bool continues = false;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = std::min(whole.find('\n', begin + 1500), whole.size());
    encoder.encode(whole.substr(begin, end - begin), parts, continues);
    continues = true;
    begin = end;
  }
  EXPECT_EQ(parts, expected);
}

TEST(StreamDecoder, AnyIds_EqualDecodingThemTogether) {
  const Tokenizer& tokenizer = testing::small_tokenizer();
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    std::vector<int32_t> ids;
    if (round % 2 == 0) {
      ids = tokenizer.encode(odd_text(random, false));
    } else {  // what an untrained model says: any ids, broken characters included
      for (size_t i = 0, count = random() % 40; i < count; ++i) {
        ids.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(tokenizer.vocab())));
      }
    }
    StreamDecoder decoder(tokenizer);
    std::string text;
    for (const int32_t id : ids) text += decoder.push(id);
    text += decoder.finish();
    ASSERT_EQ(text, tokenizer.decode(ids)) << "round " << round << ", seed " << seed;
  }
}

TEST(StreamDecoder, CharacterOfSeveralBytes_ComesWhenComplete) {
  const Tokenizer& tokenizer = testing::small_tokenizer();
  StreamDecoder decoder(tokenizer);
  const std::vector<int32_t> ids = tokenizer.encode("\xF0\x9F\x98\x80");
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(decoder.push(id));
  EXPECT_EQ(pieces.back(), "\xF0\x9F\x98\x80");
  for (size_t i = 0; i + 1 < pieces.size(); ++i) EXPECT_EQ(pieces[i], "");
}

TEST(Tokenizer, TextOfAnyKind_ComesBackUnchanged) {
  const Tokenizer& tokenizer = testing::small_tokenizer();
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    std::string text = odd_text(random, false);
    // SentencePiece writes a space as U+2581, so that character comes back as a space.
    for (size_t at; (at = text.find("\xE2\x96\x81")) != std::string::npos;) {
      text.erase(at, 2);
      text[at] = ' ';
    }
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(Tokenizer, TrainedTwice_IsTheSame) {
  LineSample sample(1 << 20);
  sample.add(std::string_view(testing::sample_corpus()).substr(0, 200000));
  EXPECT_EQ(train_tokenizer(sample, 512), testing::small_tokenizer().model_bytes());
}

TEST(Tokenizer, SpecialPieces_AreWhereTheyBelong) {
  const Tokenizer& tokenizer = testing::small_tokenizer();
  EXPECT_EQ(tokenizer.vocab(), 512);
  EXPECT_EQ(tokenizer.unk(), 0);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  EXPECT_EQ(tokenizer.piece(3), "<0x00>");
  EXPECT_EQ(tokenizer.piece(258), "<0xFF>");
}

TEST(Tokenizer, WrongFilesAndIds_AreErrors) {
  const auto code_of = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_FALSE(error.what_to_do().empty()) << error.what();
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code_of([] { Tokenizer("/nonexistent/x.model"); }), ErrorCode::NotFound);
  EXPECT_EQ(code_of([] { Tokenizer::from_bytes("hello, this is no model"); }), ErrorCode::CorruptFile);
  EXPECT_EQ(code_of([] { Tokenizer::from_bytes(""); }), ErrorCode::CorruptFile);
  std::string cut = testing::small_tokenizer().model_bytes();
  cut.resize(cut.size() / 2);
  EXPECT_EQ(code_of([&] { Tokenizer::from_bytes(cut); }), ErrorCode::CorruptFile);
  EXPECT_EQ(code_of([] { testing::small_tokenizer().decode(std::vector<int32_t>{512}); }),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([] { testing::small_tokenizer().piece(-1); }), ErrorCode::InvalidArgument);
  LineSample little(1 << 20);
  little.add("a few words only");
  EXPECT_EQ(code_of([&] { train_tokenizer(little, 32000); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { train_tokenizer(little, 100); }), ErrorCode::InvalidArgument);
}

TEST(LineSample, MoreTextThanFits_KeepsTheSameLinesInAnyOrder) {
  std::vector<std::string> lines;
  for (int i = 0; i < 20000; ++i) lines.push_back(fmt::format("line number {} of the text", i));
  const auto sample_of = [&] {
    LineSample sample(100000);
    for (const std::string& line : lines) sample.add(line);
    std::vector<std::string> kept = sample.lines();
    EXPECT_LE(sample.bytes(), 100000);
    EXPECT_GT(sample.bytes(), 30000);
    std::sort(kept.begin(), kept.end());
    return kept;
  };
  const auto forward = sample_of();
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(sample_of(), forward);
}

}  // namespace lathe
