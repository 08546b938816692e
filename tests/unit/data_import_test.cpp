// Token files of other trainers, and datasets that are not what they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/data/dataset.h"
#include "core/data/dataset_import.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "tests/unit/data_support.h"

namespace lathe {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

class DataImport : public ::testing::Test {
 protected:
  fs::path file(const std::string& name, std::string_view bytes) {
    testing::write_bytes(folder_.path() / name, bytes);
    return folder_.path() / name;
  }
  fs::path target() const { return folder_.path() / "output" / "set"; }
  std::vector<int32_t> all(const Dataset& dataset, Split split) {
    std::vector<int32_t> ids(static_cast<size_t>(dataset.tokens(split)));
    dataset.read(split, 0, ids);
    return ids;
  }
  std::vector<int64_t> starts(const Dataset& dataset, Split split) {
    std::vector<int64_t> result;
    for (int64_t i = 0; i < dataset.documents(split); ++i) result.push_back(dataset.document_begin(split, i));
    return result;
  }
  template <typename Action>
  std::string failure(Action action, ErrorCode code) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
      EXPECT_FALSE(error.what_to_do().empty()) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  TemporaryFolder folder_{"lathe-import"};
};

}  // namespace

TEST_F(DataImport, NanoGpt_EndsDocumentsAtEot) {
  const std::vector<int32_t> ids = {5, 6, 50256, 7, 50256, 8, 9, 10};
  import_tokens(target(),
                {TokenFormat::NanoGpt, {file("train.bin", testing::nanogpt_file(ids))}, {}, {}, 0, {}, 0});
  verify_dataset(target());
  const Dataset dataset(target());
  EXPECT_EQ(dataset.vocab(), 50257);
  EXPECT_EQ(all(dataset, Split::Train), ids);
  EXPECT_EQ(starts(dataset, Split::Train), (std::vector<int64_t>{0, 3, 5}));
}

TEST_F(DataImport, LlmC_BeginsDocumentsAtEotInBothLayouts) {
  const std::vector<int32_t> ids = {50256, 5, 6, 50256, 7, 50256, 8};
  import_tokens(target(), {TokenFormat::LlmC, {file("a.bin", testing::llmc_file(ids))}, {}, {}, 0, {}, 0});
  EXPECT_EQ(all(Dataset(target()), Split::Train), ids);
  EXPECT_EQ(starts(Dataset(target()), Split::Train), (std::vector<int64_t>{0, 3, 5}));

  const std::vector<int32_t> wide = {128000, 100000, 6, 128000, 7};
  import_tokens(target(),
                {TokenFormat::LlmC, {file("b.bin", testing::llmc3_file(wide))}, {}, {}, 0, {}, 0, true});
  const Dataset dataset(target());
  EXPECT_EQ(dataset.manifest().bytes_per_token, 4);
  EXPECT_EQ(all(dataset, Split::Train), wide);
  EXPECT_EQ(starts(dataset, Split::Train), (std::vector<int64_t>{0, 3}));
}

TEST_F(DataImport, Llmq_KeepsItsMask) {
  const std::vector<int32_t> ids = {5, 6, 7, 2, 8, 9, 2, 3, 4, 2};
  const std::vector<uint8_t> mask = {0, 1, 1, 1, 0, 0, 1, 0, 1, 1};
  import_tokens(target(),
                {TokenFormat::Llmq, {file("a.bin", testing::llmq_file(ids, 151936, mask))}, {}, {}, 0, 2, 0});
  verify_dataset(target());
  const Dataset dataset(target());
  EXPECT_EQ(dataset.vocab(), 151936);
  EXPECT_EQ(all(dataset, Split::Train), ids);
  std::vector<uint8_t> read(ids.size());
  dataset.read_loss_mask(Split::Train, 0, read);
  EXPECT_EQ(read, mask);
  EXPECT_EQ(starts(dataset, Split::Train), (std::vector<int64_t>{0, 4, 7}));
}

TEST_F(DataImport, ValidationFile_IsTheValidationSplit) {
  import_tokens(target(), {TokenFormat::NanoGpt,
                           {file("train.bin", testing::nanogpt_file({1, 2, 3, 50256, 4, 5}))},
                           {file("val.bin", testing::nanogpt_file({7, 8, 9}))}});
  EXPECT_EQ(all(Dataset(target()), Split::Train), (std::vector<int32_t>{1, 2, 3, 50256, 4, 5}));
  EXPECT_EQ(all(Dataset(target()), Split::Validation), (std::vector<int32_t>{7, 8, 9}));
}

TEST_F(DataImport, LongStreams_KeepEveryTokenAndBoundary) {
  // Documents around the size of a piece (1 Mi tokens), of both conventions.
  std::vector<int32_t> ids;
  std::vector<int64_t> expected;
  for (const int64_t length :
       {int64_t{700000}, int64_t{348576}, int64_t{1} << 20, int64_t{1200000}, int64_t{5}}) {
    expected.push_back(static_cast<int64_t>(ids.size()));
    ids.push_back(50256);
    for (int64_t i = 1; i < length; ++i) ids.push_back(static_cast<int32_t>(i % 50000));
  }
  import_tokens(target(), {TokenFormat::LlmC, {file("a.bin", testing::llmc_file(ids))}, {}, {}, 0, {}, 0});
  EXPECT_EQ(all(Dataset(target()), Split::Train), ids);
  EXPECT_EQ(starts(Dataset(target()), Split::Train), expected);

  std::rotate(ids.begin(), ids.begin() + 1, ids.end());  // the id now ends documents
  import_tokens(target(),
                {TokenFormat::NanoGpt, {file("b.bin", testing::nanogpt_file(ids))}, {}, {}, 0, {}, 0, true});
  EXPECT_EQ(all(Dataset(target()), Split::Train), ids);
  EXPECT_EQ(starts(Dataset(target()), Split::Train), expected);
}

TEST_F(DataImport, WrongFiles_AreNamedAndLeaveNothing) {
  const auto import_of = [&](TokenFormat format, const fs::path& path, int64_t vocab = 0) {
    return [=, this] { import_tokens(target(), {format, {path}, {}, {}, vocab, {}, 0}); };
  };
  const std::string llmc = testing::llmc_file({1, 2, 3, 4});
  std::string other_version = llmc;
  other_version[4] = 9;
  EXPECT_THAT(failure(import_of(TokenFormat::NanoGpt, folder_.path() / "no.bin"), ErrorCode::NotFound),
              HasSubstr("no.bin"));
  EXPECT_THAT(failure(import_of(TokenFormat::NanoGpt, file("odd.bin", "abc")), ErrorCode::CorruptFile),
              HasSubstr("odd"));
  EXPECT_THAT(failure(import_of(TokenFormat::NanoGpt, file("none.bin", "")), ErrorCode::InvalidArgument),
              HasSubstr("no tokens"));
  EXPECT_THAT(failure(import_of(TokenFormat::LlmC, file("cut.bin", llmc.substr(0, llmc.size() - 3))),
                      ErrorCode::CorruptFile),
              AllOf(HasSubstr("cut.bin"), HasSubstr("1029 bytes"), HasSubstr("1032"), HasSubstr("cut off")));
  EXPECT_THAT(failure(import_of(TokenFormat::LlmC, file("v.bin", other_version)), ErrorCode::Unsupported),
              HasSubstr("version 9"));
  EXPECT_THAT(failure(import_of(TokenFormat::Llmq, file("x.bin", llmc)), ErrorCode::CorruptFile),
              HasSubstr("BIN.TOK"));
  EXPECT_THAT(
      failure(import_of(TokenFormat::LlmC, file("y.bin", std::string(2000, 'x'))), ErrorCode::CorruptFile),
      HasSubstr("--format"));
  EXPECT_THAT(
      failure(import_of(TokenFormat::NanoGpt, file("big.bin", testing::nanogpt_file({1, 2, 99, 3})), 50),
              ErrorCode::CorruptFile),
      AllOf(HasSubstr("token 2 (byte 4) is 99"), HasSubstr("--vocab")));
  EXPECT_TRUE(!fs::exists(target().parent_path()) || fs::is_empty(target().parent_path()));
}

TEST_F(DataImport, DamagedDataset_IsRefusedWithTheFile) {
  const auto fresh = [&] {
    testing::build_dataset_of(target(), {"one two three four", "five six seven", "eight"});
    return manifest_to_json(load_manifest(target()));
  };
  const auto open = [&] { Dataset dataset(target()); };
  const auto verify = [&] { verify_dataset(target()); };
  const auto change_manifest = [&](auto change) {
    nlohmann::json manifest = fresh();
    change(manifest);
    testing::write_bytes(target() / "manifest.json", manifest.dump());
  };
  EXPECT_THAT(failure([&] { Dataset dataset(folder_.path()); }, ErrorCode::NotFound),
              HasSubstr("not a dataset"));

  fresh();
  const int64_t size = static_cast<int64_t>(fs::file_size(target() / "train-00000.bin"));
  fs::resize_file(target() / "train-00000.bin", static_cast<uintmax_t>(size - 2));
  EXPECT_THAT(failure(open, ErrorCode::CorruptFile),
              AllOf(HasSubstr("train-00000.bin"), HasSubstr("cut off")));
  fresh();
  fs::remove(target() / "train.idx");
  EXPECT_THAT(failure(open, ErrorCode::CorruptFile), AllOf(HasSubstr("train.idx"), HasSubstr("missing")));
  fresh();
  std::string bytes = read_file(target() / "train-00000.bin");
  bytes[0] = static_cast<char>(bytes[0] ^ 1);
  testing::write_bytes(target() / "train-00000.bin", bytes);
  open();
  EXPECT_THAT(failure(verify, ErrorCode::CorruptFile),
              AllOf(HasSubstr("train-00000.bin"), HasSubstr("hash")));
  bytes[0] = bytes[1] = '\xFF';
  testing::write_bytes(target() / "train-00000.bin", bytes);
  EXPECT_THAT(failure(verify, ErrorCode::CorruptFile), HasSubstr("token 0 is 65535"));
  EXPECT_THAT(failure(
                  [&] {
                    std::vector<int32_t> ids(3);
                    Dataset(target()).read(Split::Train, 0, ids);
                  },
                  ErrorCode::CorruptFile),
              HasSubstr("65535"));

  change_manifest([](auto& manifest) { manifest["version"] = 2; });
  EXPECT_THAT(failure(open, ErrorCode::Unsupported), AllOf(HasSubstr("version 2"), HasSubstr("newer Lathe")));
  change_manifest([](auto& manifest) { manifest["splits"]["train"]["tokens"] = 5; });
  EXPECT_THAT(failure(open, ErrorCode::CorruptFile), HasSubstr("add up"));
  change_manifest([](auto& manifest) { manifest.erase("vocab"); });
  EXPECT_THAT(failure(open, ErrorCode::CorruptFile), HasSubstr("\"vocab\" is missing"));
  change_manifest(
      [](auto& manifest) { manifest["splits"]["train"]["shards"][0]["file"] = "../../etc/passwd"; });
  EXPECT_THAT(failure(open, ErrorCode::CorruptFile), HasSubstr("plain file name"));
  testing::write_bytes(target() / "manifest.json", "{\"format\": \"lathe-dat");
  EXPECT_THAT(failure(open, ErrorCode::CorruptFile), HasSubstr("not valid JSON"));
}

TEST_F(DataImport, ReadOutsideTheDataset_IsRefused) {
  testing::build_dataset_of(target(), {"one two three four"});
  const Dataset dataset(target());
  std::vector<int32_t> ids(4);
  for (const int64_t at : {int64_t{-1}, dataset.tokens(Split::Train) - 3, INT64_MAX}) {
    EXPECT_THROW(dataset.read(Split::Train, at, ids), Error) << at;
  }
  EXPECT_THROW(dataset.document_at(Split::Train, dataset.tokens(Split::Train)), Error);
  EXPECT_THROW(dataset.document_at(Split::Validation, 0), Error);
}

}  // namespace lathe
