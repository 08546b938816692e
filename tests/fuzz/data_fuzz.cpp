// Every reader of core/data under the fuzzer: text, JSON lines, JSON, gzip, zstd, token files, datasets,
// tokenizers, data positions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/data/block_reader.h"
#include "core/data/dataset.h"
#include "core/data/dataset_import.h"
#include "core/data/documents.h"
#include "core/data/sentencepiece_model.h"
#include "core/data/token_files.h"
#include "core/data/tokenizer.h"
#include "core/data/validation_set.h"
#include "core/data/window_sampler.h"
#include "core/platform/files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/data_support.h"

namespace lathe {

namespace fs = std::filesystem;

// Writes an input where the readers expect a file, and reads it as `lathe data build` would.
class DataFuzz : public ::testing::Test {
 protected:
  void read_documents(const std::string& name, const std::string& bytes, bool skip_invalid) {
    const fs::path path = folder_.path() / name;
    testing::write_bytes(path, bytes);
    const std::vector<InputFile> files = list_input_files({path});
    BlockOptions blocks;
    blocks.block_bytes = 4096;  // many blocks out of small inputs
    blocks.longest_record = 65536;
    blocks.separator = "<|endoftext|>";
    DocumentOptions documents;
    documents.separator = blocks.separator;
    documents.skip_invalid = skip_invalid;
    const auto source = open_byte_source(path);
    size_t text = 0;
    read_blocks(files[0], 0, *source, blocks, [&](Block&& block) {
      extract_documents(block, name, documents, [&](const DocumentPart& part) { text += part.text.size(); });
      return true;
    });
    // Nothing is invented: line ends may go, U+FFFD isn't put in. (JSON escapes and compression only shrink
    // files.)
    if (!name.ends_with(".gz") && !name.ends_with(".zst")) {
      ASSERT_LE(text, bytes.size());
    }
  }
  void fuzz_documents(const std::string& name, const std::string& seed, std::vector<std::string> words = {}) {
    bool skip = false;
    testing::fuzz(name, {seed}, [&](const std::string& input) { read_documents(name, input, skip = !skip); },
                  {std::move(words)});
  }

  TemporaryFolder folder_{"lathe-fuzz", testing::fuzz_folder()};
};

static const std::string sample_text =
    "First document.\nTwo lines, caf\xC3\xA9.\n<|endoftext|>\n\nSecond \xE6\x97\xA5\xE6\x9C\xAC document\r\n"
    "with a Windows line end.\n<|endoftext|>\nThird.\n";
static const std::string sample_lines =
    "{\"text\": \"One document.\\n\"}\n{\"text\": \"Two \\u00e9\\ud83d\\ude00\", \"id\": 3}\n\"three\"\n\n"
    "{\"text\": \"\", \"meta\": {\"a\": [1, 2.5e3, null, true]}}\n";
static const std::string sample_json =
    "[\n {\"text\": \"One [document], {here}.\"},\n {\"text\": \"Two \\\"quoted\\\" \\\\\", \"list\": [[1], "
    "{}]},\n"
    " \"three\"\n]\n";
static const std::vector<std::string> json_words = {
    "{\"text\":\"x\"}", "\"", "\\", "[", "]", "{", "}", ",", "\n", "\\ud800"};

TEST_F(DataFuzz, Text_NeverCrashes) {
  fuzz_documents("fuzz.txt", sample_text,
                 {"<|endoftext|>", "\n<|endoftext|>\n", "\r\n", "\xEF\xBB\xBF", "\xE2\x96\x81"});
}
TEST_F(DataFuzz, JsonLines_NeverCrashes) {
  fuzz_documents("fuzz.jsonl", sample_lines, json_words);
}
TEST_F(DataFuzz, Json_NeverCrashes) {
  fuzz_documents("fuzz.json", sample_json, json_words);
}
TEST_F(DataFuzz, Gzip_NeverCrashes) {
  fuzz_documents("fuzz.jsonl.gz", testing::gzip(sample_lines));
}
TEST_F(DataFuzz, Zstd_NeverCrashes) {
  fuzz_documents("fuzz.txt.zst", testing::zstd(sample_text));
}

// As `lathe data import` reads them, once in a while to the dataset that comes out.
TEST_F(DataFuzz, TokenFiles_NeverCrash) {
  const fs::path path = folder_.path() / "tokens.bin";
  const std::vector<int32_t> ids = {50256, 1, 2, 3, 50256, 4, 5};
  int64_t accepted = 0;
  testing::fuzz("token-files",
                {testing::llmc_file(ids), testing::llmc3_file(ids),
                 testing::llmq_file(ids, 50257, {1, 0, 1, 1, 0, 1, 1}), testing::nanogpt_file(ids)},
                [&](const std::string& input) {
                  testing::write_bytes(path, input);
                  const TokenFormat format = input.starts_with("BIN.TOK") ? TokenFormat::Llmq
                                             : input.size() >= 1024 && input[3] == '\x01'
                                                 ? TokenFormat::LlmC
                                                 : TokenFormat::NanoGpt;
                  const TokenFile file(path, format);
                  std::vector<int32_t> read(static_cast<size_t>(file.tokens()));
                  std::vector<uint8_t> mask(file.has_mask() ? read.size() : 0);
                  if (file.has_mask()) file.read_mask(0, mask);
                  file.read(0, read, 50257);
                  if (accepted++ % 16 == 0) {
                    ImportOptions options;
                    options.format = format;
                    options.files = {path};
                    options.vocab = 50257;
                    options.replace = true;
                    import_tokens(folder_.path() / "imported", options);
                    verify_dataset(folder_.path() / "imported");
                  }
                });
}

TEST_F(DataFuzz, Manifest_NeverCrashes) {
  const DatasetManifest manifest = testing::build_dataset_of(folder_.path() / "set", {"a b c", "d e f g"});
  const std::string valid = manifest_to_json(manifest).dump(2);
  testing::fuzz("manifest", {valid}, [](const std::string& input) { manifest_from_json(input, "fuzz"); },
                {{"-1", "1e99", "9223372036854775807", "18446744073709551616", "null", "\"../x\"", "[]", "{}",
                  "true"}});
}

// A dataset of which parts were changed: opening, reading and checking it give values or an Error.
class DatasetFuzz : public DataFuzz {
 protected:
  DatasetFuzz() {
    const fs::path file = folder_.path() / "tokens.bin";
    testing::write_bytes(file, testing::llmq_file({7, 1, 2, 9, 3, 4, 5, 9, 6, 8, 9, 5}, 10,
                                                  {1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1}));
    ImportOptions options;
    options.format = TokenFormat::Llmq;
    options.files = {file};
    options.eos = 9;
    options.validation_fraction = 0.3;
    import_tokens(set_, options);
  }

  void read_everything() {
    const auto dataset = std::make_shared<Dataset>(set_);
    WindowSampler sampler({{"set", dataset, 1, 0}}, 4, 1);
    Batch batch;
    for (int i = 0; i < 10; ++i) {
      sampler.next(2, batch);
      check(batch, *dataset);
    }
    const ValidationSet validation("set", dataset, 4, 0, Split::Validation);
    validation.fill(0, 2, batch);
    check(batch, *dataset);
    verify_dataset(set_);
  }
  static void check(const Batch& batch, const Dataset& dataset) {
    for (size_t i = 0; i < batch.tokens.size(); ++i) {
      ASSERT_TRUE(batch.tokens[i] >= 0 && batch.tokens[i] < dataset.vocab());
      ASSERT_TRUE(batch.targets[i] >= -1 && batch.targets[i] < dataset.vocab());
      ASSERT_TRUE(batch.document_start[i] >= 0 && batch.document_start[i] <= 4);
    }
  }

  const fs::path set_ = folder_.path() / "set";
};

TEST_F(DatasetFuzz, Manifest_Mutated_IsReadOrRefused) {
  const fs::path path = set_ / DatasetManifest::file_name;
  testing::fuzz("dataset-manifest", {read_file(path)},
                [&](const std::string& input) {
                  testing::write_bytes(path, input);
                  read_everything();
                },
                {.words = {"-1", "1e99", "9223372036854775807", "18446744073709551616", "null", "\"../x\"",
                           "[]", "{}", "true", "1", "2", "4", std::string(70, '[')}});
}

// All other files at once, each of the size that the manifest states: other sizes are refused at once.
TEST_F(DatasetFuzz, Files_Mutated_AreReadOrRefused) {
  std::vector<std::pair<fs::path, size_t>> files;
  std::string valid;
  for (const auto& entry : fs::directory_iterator(set_)) {
    if (entry.path().filename() == DatasetManifest::file_name) continue;
    const std::string bytes = read_file(entry.path());
    files.emplace_back(entry.path(), bytes.size());
    valid += bytes;
  }
  ASSERT_GE(files.size(), 6u);  // tokens, mask and index of both splits
  testing::fuzz("dataset-files", {valid}, [&](std::string input) {
    input.resize(valid.size());
    size_t at = 0;
    for (const auto& [path, size] : files) {
      testing::write_bytes(path, input.substr(at, size));
      at += size;
    }
    read_everything();
  });
}

// The facts are read here, the rest by SentencePiece.
TEST_F(DataFuzz, Tokenizer_NeverCrashes) {
  testing::fuzz("tokenizer", {testing::small_tokenizer().model_bytes()}, [](const std::string& input) {
    const Tokenizer tokenizer = Tokenizer::from_bytes(input, "fuzz");
    CachedEncoder cached(tokenizer);
    std::vector<int32_t> ids;
    cached.encode("It is a truth universally acknowledged, caf\xC3\xA9 \xF0\x9F\x98\x80.", ids);
    tokenizer.decode(ids);
    StreamDecoder decoder(tokenizer);
    for (const int32_t id : ids) decoder.push(id);
    decoder.finish();
    return std::string(cached.caches() ? "cached" : "accepted");
  });
}

// A data position is refused, or the sampler goes on from it.
TEST_F(DatasetFuzz, Cursor_Mutated_IsSoughtOrRefused) {
  const auto dataset = std::make_shared<Dataset>(set_);
  WindowSampler sampler({{"set", dataset, 1, 0}}, 4, 1);
  sampler.skip(5);
  testing::fuzz("cursor", {cursor_to_json(sampler.cursor()).dump(1)},
                [&](const std::string& input) {
                  const auto json = nlohmann::json::parse(input, nullptr, false);
                  if (json.is_discarded()) return std::string("no JSON");
                  sampler.seek(cursor_from_json(json));
                  Batch batch;
                  sampler.next(1, batch);
                  sampler.sources();
                  return std::string("sought");
                },
                {.words = {"-1", "1e18", "1e999", "9223372036854775807", "4503599627370496", "[]", "null"}});
}

}  // namespace lathe
