#include "tests/unit/data_support.h"

#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/data/byte_source.h"
#include "core/data/tokenizer_training.h"
#include "core/platform/files.h"

namespace lathe::testing {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

const std::string& sample_corpus() {
  static const std::string text = [] {
    // Elsewhere when the programs were carried to another machine.
    const char* given = std::getenv("LATHE_RESOURCES");
    const fs::path resources = given ? fs::path(given) : fs::path(LATHE_SOURCE_DIR) / "resources";
    const auto source = open_byte_source(resources / "samples/austen.txt.zst");
    std::string all, piece(1 << 20, '\0');
    while (const size_t got = source->read(piece.data(), piece.size())) all.append(piece, 0, got);
    return all;
  }();
  return text;
}

const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer = [] {
    LineSample sample(1 << 20);
    sample.add(std::string_view(sample_corpus()).substr(0, 200000));
    return Tokenizer::from_bytes(train_tokenizer(sample, 512));
  }();
  return tokenizer;
}

fs::path small_tokenizer_file() {
  static const TemporaryFolder folder("lathe-tokenizer");
  const fs::path path = folder.path() / "small.model";
  if (!fs::exists(path)) write_bytes(path, small_tokenizer().model_bytes());
  return path;
}

DatasetManifest build_dataset_of(const fs::path& target, const std::vector<std::string>& documents,
                                 double validation_fraction) {
  const TemporaryFolder folder("lathe-input");
  const fs::path input = folder.path() / "documents.jsonl";
  std::string lines;
  for (const std::string& document : documents) lines += nlohmann::json({{"text", document}}).dump() + "\n";
  write_bytes(input, lines);
  BuildOptions options;
  options.inputs = {input};
  options.tokenizer = small_tokenizer_file();
  options.validation_fraction = validation_fraction;
  options.replace = true;
  options.threads = 2;
  return build_dataset(target, options).manifest;
}

template <typename Stored>
static std::string bytes_of(const std::vector<int32_t>& ids) {
  std::string bytes;
  for (const int32_t id : ids) {
    const auto stored = static_cast<Stored>(id);
    bytes.append(reinterpret_cast<const char*>(&stored), sizeof(stored));
  }
  return bytes;
}

static std::string header(std::vector<int32_t> words) {
  words.resize(256, 0);
  return bytes_of<int32_t>(words);
}

std::string nanogpt_file(const std::vector<int32_t>& ids) {
  return bytes_of<uint16_t>(ids);
}
std::string llmc_file(const std::vector<int32_t>& ids) {
  return header({20240520, 1, static_cast<int32_t>(ids.size())}) + bytes_of<uint16_t>(ids);
}
std::string llmc3_file(const std::vector<int32_t>& ids) {
  return header({20240801, 7, static_cast<int32_t>(ids.size())}) + bytes_of<uint32_t>(ids);
}
std::string llmq_file(const std::vector<int32_t>& ids, int32_t vocab, const std::vector<uint8_t>& mask) {
  std::string bytes = header({0, 0, 2, 4, static_cast<int32_t>(ids.size()), vocab, mask.empty() ? 0 : 1});
  std::memcpy(bytes.data(), "BIN.TOK\n", 8);
  bytes += bytes_of<uint32_t>(ids);
  for (size_t i = 0; i < mask.size(); ++i) {
    if (i % 8 == 0) bytes += '\0';
    bytes.back() = static_cast<char>(bytes.back() | (mask[i] << (i % 8)));
  }
  return bytes;
}

}  // namespace lathe::testing
