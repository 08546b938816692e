// Every reader of core/data under the fuzzer: text, JSON lines, JSON, gzip, zstd, token files, manifest,
// tokenizer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/data/block_reader.h"
#include "core/data/dataset.h"
#include "core/data/documents.h"
#include "core/data/sentencepiece_model.h"
#include "core/data/token_files.h"
#include "core/data/window_sampler.h"
#include "core/platform/files.h"
#include "tests/support/fuzz.h"
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

TEST_F(DataFuzz, TokenFiles_NeverCrash) {
  const fs::path path = folder_.path() / "tokens.bin";
  const std::vector<int32_t> ids = {50256, 1, 2, 3, 50256, 4, 5};
  testing::fuzz(
      "token-files",
      {testing::llmc_file(ids), testing::llmc3_file(ids),
       testing::llmq_file(ids, 50257, {1, 0, 1, 1, 0, 1, 1}), testing::nanogpt_file(ids)},
      [&](const std::string& input) {
        testing::write_bytes(path, input);
        int accepted = 0;
        for (const TokenFormat format : {TokenFormat::NanoGpt, TokenFormat::LlmC, TokenFormat::Llmq}) {
          try {
            const TokenFile file(path, format);
            std::vector<int32_t> read(static_cast<size_t>(file.tokens()));
            std::vector<uint8_t> mask(file.has_mask() ? read.size() : 0);
            file.read(0, read, 50257);
            if (file.has_mask()) file.read_mask(0, mask);
            ++accepted;
          } catch (const Error&) {
            if (format == TokenFormat::Llmq && accepted == 0) throw;
          }
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

// A whole dataset folder whose manifest, index or tokens were changed: opening and reading give values or an
// Error.
TEST_F(DataFuzz, Dataset_NeverCrashes) {
  const fs::path set = folder_.path() / "set";
  testing::build_dataset_of(set, {"one two three four five six", "seven eight nine ten", "eleven twelve"});
  const fs::path index = set / "train.idx", tokens = set / "train-00000.bin";
  const std::string valid_index = read_file(index), valid_tokens = read_file(tokens);
  testing::fuzz("dataset", {valid_index + valid_tokens}, [&](std::string input) {
    input.resize(valid_index.size() + valid_tokens.size());  // other sizes are refused at once
    testing::write_bytes(index, input.substr(0, valid_index.size()));
    testing::write_bytes(tokens, input.substr(valid_index.size()));
    const auto dataset = std::make_shared<Dataset>(set);
    WindowSampler sampler({{"set", dataset, 1, 0}}, 4, 1);
    Batch batch;
    for (int i = 0; i < 20; ++i) sampler.next(2, batch);
    for (size_t i = 0; i < batch.tokens.size(); ++i) {
      ASSERT_LT(batch.tokens[i], dataset->vocab());
      ASSERT_LT(batch.document_start[i], 4);
    }
  });
}

TEST_F(DataFuzz, TokenizerFacts_NeverCrash) {
  testing::fuzz("sentencepiece", {testing::small_tokenizer().model_bytes()},
                [](const std::string& input) { read_sentencepiece_model(input, "fuzz"); });
}

TEST_F(DataFuzz, Cursor_NeverCrashes) {
  const Cursor cursor{128, 1, 30, {{"a", "00ff", 20, 3}, {"b", "11ee", 10, 0}}};
  testing::fuzz("cursor", {cursor_to_json(cursor).dump()}, [](const std::string& input) {
    const auto json = nlohmann::json::parse(input, nullptr, false);
    if (!json.is_discarded()) cursor_from_json(json);
  });
}

}  // namespace lathe
