// From files to a dataset: what goes in comes out, in every format; bad input is named and leaves nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/data/dataset.h"
#include "core/data/dataset_builder.h"
#include "core/data/json_splitter.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "tests/unit/data_support.h"

namespace lathe {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

// The text of every document of a split, EOS taken off.
std::vector<std::string> documents_of(const Dataset& dataset, Split split) {
  const Tokenizer tokenizer(*dataset.tokenizer_path());
  std::vector<std::string> texts;
  for (int64_t i = 0; i < dataset.documents(split); ++i) {
    const int64_t begin = dataset.document_begin(split, i), end = dataset.document_begin(split, i + 1);
    std::vector<int32_t> ids(static_cast<size_t>(end - begin));
    dataset.read(split, begin, ids);
    EXPECT_EQ(ids.back(), tokenizer.eos());
    ids.pop_back();
    texts.push_back(tokenizer.decode(ids));
  }
  return texts;
}

class DataBuild : public ::testing::Test {
 protected:
  fs::path file(const std::string& name, std::string_view bytes) {
    const fs::path path = folder_.path() / "input" / name;
    fs::create_directories(path.parent_path());
    testing::write_bytes(path, bytes);
    return path;
  }
  BuildOptions options(std::vector<fs::path> inputs) {
    BuildOptions result;
    result.inputs = std::move(inputs);
    result.tokenizer = testing::small_tokenizer_file();
    result.validation_fraction = 0;
    result.threads = 2;
    return result;
  }
  fs::path target() const { return folder_.path() / "output" / "set"; }

  std::vector<std::string> build(const BuildOptions& build_options) {
    fs::remove_all(target());
    build_dataset(target(), build_options);
    verify_dataset(target());
    return documents_of(Dataset(target()), Split::Train);
  }
  // The error of a build that fails; nothing may be left where it was to be written.
  std::string failure(const BuildOptions& build_options, ErrorCode code) {
    try {
      build_dataset(target(), build_options);
    } catch (const Error& error) {
      EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
      EXPECT_FALSE(error.what_to_do().empty()) << error.what();
      const fs::path parent = target().parent_path();
      EXPECT_TRUE(!fs::exists(parent) || fs::is_empty(parent)) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "built";
    return {};
  }

  TemporaryFolder folder_{"lathe-build"};
};

}  // namespace

TEST_F(DataBuild, EveryFormat_GivesItsDocuments) {
  const std::vector<std::string> three = {"One document.\nTwo lines.", "Second: caf\xC3\xA9 \xE6\x97\xA5",
                                          "  third "};
  const std::string text =
      three[0] + "\n<|endoftext|>\n\n" + three[1] + "\n<|endoftext|>\n" + three[2] + "\n";
  std::string lines, list = "[";
  for (const std::string& document : three) {
    const std::string record = nlohmann::json({{"id", 1}, {"text", document}}).dump();
    lines += record + "\n\n";
    list += (list.size() > 1 ? ",\n" : "") + record;
  }
  list += "]";
  for (const auto& [name, bytes] : std::map<std::string, std::string>{{"a.txt", text},
                                                                      {"a.md", text},
                                                                      {"a.jsonl", lines},
                                                                      {"a.json", list},
                                                                      {"a.txt.gz", testing::gzip(text)},
                                                                      {"a.txt.zst", testing::zstd(text)},
                                                                      {"a.jsonl.gz", testing::gzip(lines)},
                                                                      {"a.jsonl.zst", testing::zstd(lines)},
                                                                      {"a.json.gz", testing::gzip(list)}}) {
    EXPECT_EQ(build(options({file(name, bytes)})), three) << name;
  }
}

TEST_F(DataBuild, JoinedCompressedFiles_AreReadToTheEnd) {
  const std::string a = "First part,\n", b = "second part.";
  EXPECT_EQ(build(options({file("a.txt.gz", testing::gzip(a) + testing::gzip(b))})),
            std::vector<std::string>{a + b});
  EXPECT_EQ(build(options({file("a.txt.zst", testing::zstd(a) + testing::zstd(b))})),
            std::vector<std::string>{a + b});
}

TEST_F(DataBuild, Folder_IsReadByNameWithoutHiddenFiles) {
  file("tree/b.txt", "bee");
  file("tree/a/z.jsonl", "{\"text\":\"zed\"}\n");
  file("tree/.hidden.txt", "hidden");
  file("tree/.git/c.txt", "hidden");
  file("tree/picture.png", "\x89PNG");
  testing::build_dataset_of(folder_.path() / "input/tree/old set", {"not again"});
  EXPECT_EQ(build(options({folder_.path() / "input/tree"})), (std::vector<std::string>{"zed", "bee"}));
}

TEST_F(DataBuild, SeparatorOption_DecidesWhatADocumentIs) {
  const fs::path path = file("a.txt", "one\ntwo\n\nthree\n\n\nfour\n<|endoftext|>\nfive");
  BuildOptions whole = options({path});
  whole.documents.separator = "";
  EXPECT_EQ(build(whole).size(), 1u);
  BuildOptions marked = options({path});
  marked.documents.separator = "four";
  EXPECT_EQ(build(marked), (std::vector<std::string>{"one\ntwo\n\nthree", "<|endoftext|>\nfive"}));
}

TEST_F(DataBuild, WindowsText_LosesMarkAndCarriageReturns) {
  EXPECT_EQ(build(options({file("a.txt", "\xEF\xBB\xBFone\r\ntwo\r\n<|endoftext|>\r\nthree\r\n")})),
            (std::vector<std::string>{"one\ntwo", "three"}));
}

TEST_F(DataBuild, LargeText_ComesBackUnchangedFromAnyNumberOfThreads) {
  // 5 MB in documents from empty to larger than a block.
  std::mt19937 random(5);
  const std::string& corpus = testing::sample_corpus();
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 60; ++i) {
    const size_t size = i == 30 ? 2500000 : random() % 60000;
    std::string document = corpus.substr(random() % (corpus.size() - size), size);
    while (!document.empty() && document.front() == '\n') document.erase(0, 1);
    while (!document.empty() && document.back() == '\n') document.pop_back();
    for (size_t at; (at = document.find("<|endoftext|>")) != std::string::npos;) document[at] = '(';
    text += document + "\n<|endoftext|>\n";
    if (!document.empty()) expected.push_back(document);
  }
  BuildOptions one = options({file("a.txt", text)}), four = one;
  one.threads = 1;
  four.threads = 4;
  EXPECT_EQ(build(one), expected);
  const std::string hash = Dataset(target()).hash();
  build(four);
  EXPECT_EQ(Dataset(target()).hash(), hash);
}

TEST_F(DataBuild, ValidationDocuments_StayWhenOthersAreAdded) {
  std::vector<std::string> documents;
  for (int i = 0; i < 2000; ++i) documents.push_back(fmt::format("Document number {} says hello.", i));
  testing::build_dataset_of(target(), documents, 0.05);
  const auto before = documents_of(Dataset(target()), Split::Validation);
  EXPECT_NEAR(static_cast<double>(before.size()), 100, 40);
  for (const std::string& text : documents_of(Dataset(target()), Split::Train)) {
    EXPECT_EQ(std::count(before.begin(), before.end(), text), 0);
  }
  for (int i = 0; i < 500; ++i) documents.insert(documents.begin(), fmt::format("New {}.", i));
  testing::build_dataset_of(target(), documents, 0.05);
  const auto after = documents_of(Dataset(target()), Split::Validation);
  for (const std::string& text : before) EXPECT_EQ(std::count(after.begin(), after.end(), text), 1) << text;
}

TEST_F(DataBuild, FewLongDocuments_GiveTheirTailToValidation) {
  const std::string& corpus = testing::sample_corpus();
  // One giant document: cut inside.
  testing::build_dataset_of(target(), {corpus.substr(0, 300000)}, 0.01);
  verify_dataset(target());
  {
    const Dataset one(target());
    const int64_t all = one.tokens(Split::Train) + one.tokens(Split::Validation);
    EXPECT_NEAR(static_cast<double>(one.tokens(Split::Validation)), 0.01 * static_cast<double>(all), 2);
    EXPECT_EQ(one.documents(Split::Train), 1);
  }
  // Several: the last whole document.
  testing::build_dataset_of(
      target(), {corpus.substr(0, 90000), corpus.substr(90000, 90000), corpus.substr(200000, 5000)}, 0.01);
  verify_dataset(target());
  const Dataset three(target());
  EXPECT_EQ(three.documents(Split::Train), 2);
  EXPECT_EQ(documents_of(three, Split::Validation), std::vector<std::string>{corpus.substr(200000, 5000)});
}

TEST_F(DataBuild, PromptField_MakesALossMask) {
  BuildOptions masked = options({file("a.jsonl", "{\"q\":\"What is this?\",\"text\":\" An answer.\"}\n")});
  masked.documents.prompt_field = "q";
  EXPECT_EQ(build(masked), std::vector<std::string>{"What is this? An answer."});
  const Dataset dataset(target());
  ASSERT_TRUE(dataset.has_loss_mask(Split::Train));
  const auto prompt = testing::small_tokenizer().encode("What is this?").size();
  std::vector<uint8_t> mask(static_cast<size_t>(dataset.tokens(Split::Train)));
  dataset.read_loss_mask(Split::Train, 0, mask);
  for (size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(mask[i], i >= prompt) << i;
}

TEST_F(DataBuild, TrainedTokenizer_MakesTheDatasetFromTextAlone) {
  BuildOptions trained = options({file("a.txt", testing::sample_corpus().substr(0, 200000))});
  trained.tokenizer.reset();
  trained.train_vocab = 400;
  std::vector<BuildPhase> phases;
  build_dataset(target(), trained, [&](const BuildProgress& progress) {
    if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
    return true;
  });
  EXPECT_EQ(Dataset(target()).vocab(), 400);
  EXPECT_EQ(phases, (std::vector{BuildPhase::Sampling, BuildPhase::TrainingTokenizer, BuildPhase::Encoding,
                                 BuildPhase::Finishing}));
}

TEST_F(DataBuild, BadInput_IsNamedWithItsPlaceAndLeavesNothing) {
  EXPECT_THAT(failure(options({folder_.path() / "missing.txt"}), ErrorCode::NotFound),
              HasSubstr("missing.txt"));
  EXPECT_THAT(failure(options({file("empty.txt", "")}), ErrorCode::InvalidArgument), HasSubstr("empty.txt"));
  EXPECT_THAT(failure(options({file("blank.txt", "\n\n\n")}), ErrorCode::InvalidArgument),
              HasSubstr("no text"));
  EXPECT_THAT(failure(options({file("a.pdf", "x")}), ErrorCode::InvalidArgument), HasSubstr("a.pdf"));
  EXPECT_THAT(failure(options({}), ErrorCode::InvalidArgument), HasSubstr("--input"));
  file("none/picture.png", "x");
  EXPECT_THAT(failure(options({folder_.path() / "input/none"}), ErrorCode::InvalidArgument),
              HasSubstr("none"));
  EXPECT_THAT(failure(options({file("latin.txt", "one\ntwo\ncaf\xE9\n")}), ErrorCode::CorruptFile),
              AllOf(HasSubstr("latin.txt, line 3 (byte 11)"), HasSubstr("0xE9"), HasSubstr("iconv")));
  EXPECT_THAT(
      failure(options({file("cut.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\n")}), ErrorCode::CorruptFile),
      HasSubstr("cut.jsonl, line 2 (byte 13)"));
  EXPECT_THAT(
      failure(options({file("field.jsonl", "{\"text\":\"a\"}\n\n{\"body\":\"b\"}\n")}),
              ErrorCode::CorruptFile),
      AllOf(HasSubstr("line 3"), HasSubstr("no field \"text\""), HasSubstr("body"), HasSubstr("--field")));
  EXPECT_THAT(failure(options({file("type.jsonl", "{\"text\":5}\n")}), ErrorCode::CorruptFile),
              HasSubstr("number"));
  EXPECT_THAT(failure(options({file("cut.json", "[{\"text\":\"a\"},")}), ErrorCode::CorruptFile),
              HasSubstr("byte 14"));
  EXPECT_THAT(
      failure(options({file("two.json", "{\"text\":\"a\"} {\"text\":\"b\"}")}), ErrorCode::CorruptFile),
      HasSubstr(".jsonl"));
  EXPECT_THAT(failure(options({file("fake.txt.gz", "not gzip at all")}), ErrorCode::CorruptFile),
              HasSubstr("fake.txt.gz"));
  const std::string gz = testing::gzip(testing::sample_corpus().substr(0, 50000));
  const std::string zst = testing::zstd(testing::sample_corpus().substr(0, 50000));
  EXPECT_THAT(failure(options({file("half.txt.gz", gz.substr(0, gz.size() / 2))}), ErrorCode::CorruptFile),
              AllOf(HasSubstr("half.txt.gz"), HasSubstr("ends in the middle")));
  EXPECT_THAT(failure(options({file("half.txt.zst", zst.substr(0, zst.size() / 2))}), ErrorCode::CorruptFile),
              AllOf(HasSubstr("half.txt.zst"), HasSubstr("ends in the middle")));
  std::string broken = gz;
  for (size_t i = broken.size() / 2; i < broken.size() / 2 + 40; ++i)
    broken[i] = static_cast<char>(~broken[i]);
  EXPECT_THAT(failure(options({file("broken.txt.gz", broken)}), ErrorCode::CorruptFile),
              HasSubstr("near byte"));
}

TEST_F(DataBuild, SkipInvalid_LeavesOutWhatIsBrokenAndCountsIt) {
  BuildOptions skipping =
      options({file("a.jsonl", "{\"text\":\"a\"}\n{\"te\n{\"body\":1}\n{\"text\":\"b\"}\n"),
               file("b.txt",
                    "good\n<|endoftext|>\nb\xFF"
                    "d\n<|endoftext|>\nfine\n")});
  skipping.documents.skip_invalid = true;
  EXPECT_EQ(build(skipping), (std::vector<std::string>{"a", "b", "good", "fine"}));
  EXPECT_EQ(Dataset(target()).manifest().skipped_records, 3);
}

TEST_F(DataBuild, Cancelled_LeavesNothing) {
  BuildOptions cancelled = options({file("a.txt", testing::sample_corpus())});
  int calls = 0;
  try {
    build_dataset(target(), cancelled, [&](const BuildProgress&) { return ++calls < 2; });
    ADD_FAILURE() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
  EXPECT_TRUE(fs::is_empty(target().parent_path()));
}

TEST_F(DataBuild, ExistingTarget_IsKeptUnlessReplacingADataset) {
  testing::build_dataset_of(target(), {"the old one"});
  BuildOptions again = options({file("a.txt", "the new one")});
  EXPECT_THROW(build_dataset(target(), again), Error);
  EXPECT_EQ(documents_of(Dataset(target()), Split::Train), std::vector<std::string>{"the old one"});
  again.replace = true;
  build_dataset(target(), again);
  EXPECT_EQ(documents_of(Dataset(target()), Split::Train), std::vector<std::string>{"the new one"});
  EXPECT_EQ(std::distance(fs::directory_iterator(target().parent_path()), {}), 1);
  const fs::path other = folder_.path() / "documents";
  fs::create_directories(other);
  testing::write_bytes(other / "letter.txt", "precious");
  EXPECT_THROW(build_dataset(other, again), Error);
  EXPECT_TRUE(fs::exists(other / "letter.txt"));
}

TEST_F(DataBuild, LeftoverOfAKilledBuild_IsRemovedByTheNext) {
  const fs::path leftover = folder_.path() / "output" / "set.building-0abc";
  fs::create_directories(leftover);
  testing::write_bytes(leftover / "lock", "");
  testing::write_bytes(leftover / "train-00000.bin", "half");
  build(options({file("a.txt", "hello")}));
  EXPECT_FALSE(fs::exists(leftover));
}

TEST(JsonSplitter, PiecesOfAnySize_GiveTheSameValues) {
  const std::string text = " [1, \"a,]\\\"\", {\"x\": [1, {\"y\": \"}\"}]}, [], true ,null]\n";
  const std::vector<std::string> expected = {"1",  "\"a,]\\\"\"", "{\"x\": [1, {\"y\": \"}\"}]}",
                                             "[]", "true",        "null"};
  for (size_t size = 1; size < text.size(); ++size) {
    JsonSplitter splitter("test");
    std::vector<std::string> values;
    for (size_t at = 0; at < text.size(); at += size) {
      std::string_view piece = std::string_view(text).substr(at, size);
      while (splitter.next(piece)) {
        values.push_back(splitter.value());
        EXPECT_EQ(text.substr(static_cast<size_t>(splitter.offset()), values.back().size()), values.back());
      }
    }
    EXPECT_FALSE(splitter.finish());
    EXPECT_EQ(values, expected) << "pieces of " << size;
  }
}

}  // namespace lathe
