#include "core/data/token_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

std::string_view token_format_name(TokenFormat format) {
  switch (format) {
    case TokenFormat::NanoGpt:
      return "nanogpt";
    case TokenFormat::LlmC:
      return "llmc";
    case TokenFormat::Llmq:
      return "llmq";
  }
  return "";
}

static constexpr int64_t header_bytes = 1024;  // of llm.c and LLMQ alike
static constexpr int64_t gpt2_vocab = 50257, gpt2_eos = 50256;
static constexpr int64_t llama3_vocab = 128256, llama3_begin_of_text = 128000;

TokenFile::TokenFile(const std::filesystem::path& path, TokenFormat format)
    : name_(to_utf8(path)), file_(path, MappedFile::Access::Sequential) {
  if (format == TokenFormat::NanoGpt) {
    if (file_.size() % 2 != 0) {
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("{} has {} bytes, an odd number; nanoGPT's files hold 2 bytes a token.", name_,
                              file_.size()),
                  "Check the format and that the file is complete.");
    }
    tokens_ = file_.size() / 2;
    vocab_ = gpt2_vocab;
    eos_ = gpt2_eos;
  } else {
    if (file_.size() < header_bytes) {
      throw Error(
          ErrorCode::CorruptFile,
          fmt::format("{} has {} bytes, less than the header of {}.", name_, file_.size(), header_bytes),
          "Check the format and that the file is complete.");
    }
    data_offset_ = header_bytes;
    format == TokenFormat::LlmC ? read_llmc_header() : read_llmq_header();
  }
  if (tokens_ == 0) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} holds no tokens.", name_),
                "Leave this file out.");
  }
}

int32_t TokenFile::header_word(size_t index) const {
  int32_t word = 0;
  std::memcpy(&word, file_.bytes().data() + index * 4, 4);
  return word;
}

void TokenFile::require_size(int64_t expected, int64_t count) const {
  if (file_.size() == expected) return;
  throw Error(
      ErrorCode::CorruptFile,
      fmt::format("{} has {} bytes; with the {} tokens that its header states it would have {}{}.", name_,
                  file_.size(), count, expected, file_.size() < expected ? " (it was cut off)" : ""),
      "Get or write the file again.");
}

void TokenFile::read_llmc_header() {
  const int32_t magic = header_word(0), version = header_word(1);
  if (magic != 20240520 && magic != 20240801) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} begins with {}, which is no token file of llm.c (20240520 or 20240801).",
                            name_, magic),
                "Check --format; files without a header are nanogpt's.");
  }
  const bool llama3 = magic == 20240801;
  if (version != (llama3 ? 7 : 1)) {
    throw Error(ErrorCode::Unsupported, fmt::format("{} has llm.c's format version {}.", name_, version),
                fmt::format("Version {} can be read.", llama3 ? 7 : 1));
  }
  bytes_per_token_ = llama3 ? 4 : 2;
  vocab_ = llama3 ? llama3_vocab : gpt2_vocab;
  eos_ = llama3 ? llama3_begin_of_text : gpt2_eos;
  eos_begins_ = true;
  tokens_ = std::max<int32_t>(header_word(2), 0);
  require_size(data_offset_ + tokens_ * bytes_per_token_, tokens_);
}

void TokenFile::read_llmq_header() {
  static constexpr std::string_view magic = "BIN.TOK\n";
  if (std::memcmp(file_.bytes().data(), magic.data(), magic.size()) != 0) {
    throw Error(ErrorCode::CorruptFile, fmt::format("{} doesn't begin with LLMQ's BIN.TOK.", name_),
                "Check --format; files without a header are nanogpt's.");
  }
  const int32_t version = header_word(2);
  if (version != 1 && version != 2) {
    throw Error(ErrorCode::Unsupported, fmt::format("{} has LLMQ's format version {}.", name_, version),
                "Versions 1 and 2 can be read.");
  }
  bytes_per_token_ = header_word(3);
  if (bytes_per_token_ != 4) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} states {} bytes a token; LLMQ writes 4.", name_, bytes_per_token_),
                "Check that the file is complete.");
  }
  tokens_ = std::max<int32_t>(header_word(4), 0);
  vocab_ = version == 2 ? std::max<int32_t>(header_word(5), 0) : 0;
  const int64_t ids_end = data_offset_ + tokens_ * 4;
  const bool masked = version == 2 && header_word(6) != 0;
  if (masked) mask_offset_ = ids_end;
  require_size(masked ? ids_end + (tokens_ + 7) / 8 : ids_end, tokens_);
}

void TokenFile::read(int64_t offset, std::span<int32_t> out, int64_t vocab) const {
  const std::byte* from = file_.bytes().data() + data_offset_ + offset * bytes_per_token_;
  for (size_t i = 0; i < out.size(); ++i) {
    uint32_t id = 0;
    std::memcpy(&id, from + i * static_cast<size_t>(bytes_per_token_), static_cast<size_t>(bytes_per_token_));
    if (int64_t{id} >= vocab) {
      throw Error(
          ErrorCode::CorruptFile,
          fmt::format("{}: token {} (byte {}) is {}, but the vocabulary has {}.", name_,
                      offset + static_cast<int64_t>(i),
                      data_offset_ + (offset + static_cast<int64_t>(i)) * bytes_per_token_, id, vocab),
          "Give the right size with --vocab, or check --format and the file.");
    }
    out[i] = static_cast<int32_t>(id);
  }
}

void TokenFile::read_mask(int64_t offset, std::span<uint8_t> out) const {
  for (uint8_t& bit : out) {
    const auto byte =
        std::to_integer<unsigned>(file_.bytes()[static_cast<size_t>(mask_offset_ + offset / 8)]);
    bit = (byte >> (offset % 8)) & 1u;
    ++offset;
  }
}

void TokenFile::forget(int64_t offset, int64_t count) const {
  file_.forget(data_offset_ + offset * bytes_per_token_, count * bytes_per_token_);
}

}  // namespace lathe
