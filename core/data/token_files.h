// Token files that other trainers write: nanoGPT's raw ids, llm.c's and LLMQ's with a header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/platform/mapped_file.h"

namespace lathe {

enum class TokenFormat { NanoGpt, LlmC, Llmq };
std::string_view token_format_name(TokenFormat format);  // "nanogpt", "llmc", "llmq"

// An opened file. Layouts (all little-endian):
//   nanogpt  uint16 ids, nothing else.
//   llmc     int32[256]: magic, version, count. Magic 20240520, version 1: uint16 ids (GPT-2); magic
//   20240801,
//            version 7: uint32 ids (Llama 3). Documents begin with the end-of-text id.
//   llmq     1024 bytes: "BIN.TOK\n", then int32: version 1 or 2, bytes per token (4), count, and in version
//   2
//            vocabulary and whether mask bits (1 = counts as a target, low bit first) follow the ids.
class TokenFile {
 public:
  // Throws NotFound, Io; CorruptFile when header and size contradict each other; Unsupported for another
  // version.
  TokenFile(const std::filesystem::path& path, TokenFormat format);

  int64_t tokens() const { return tokens_; }
  int64_t bytes() const { return file_.size(); }
  int64_t vocab() const { return vocab_; }  // of the header or the format's tokenizer; 0 when nobody says
  int64_t eos() const { return eos_; }      // the format's usual end-of-text id, or -1
  bool eos_begins_documents() const { return eos_begins_; }
  bool has_mask() const { return mask_offset_ > 0; }

  // Tokens [offset, offset + out.size()). Throws CorruptFile, with the byte, for an id at or above `vocab`.
  void read(int64_t offset, std::span<int32_t> out, int64_t vocab) const;
  void read_mask(int64_t offset, std::span<uint8_t> out) const;
  void forget(int64_t offset, int64_t count) const;  // they won't be read again

 private:
  void read_llmc_header();
  void read_llmq_header();
  int32_t header_word(size_t index) const;
  void require_size(int64_t expected, int64_t header_bytes) const;

  std::string name_;
  MappedFile file_;
  int64_t data_offset_ = 0;
  int64_t mask_offset_ = 0;
  int64_t bytes_per_token_ = 2;
  int64_t tokens_ = 0;
  int64_t vocab_ = 0;
  int64_t eos_ = -1;
  bool eos_begins_ = false;
};

}  // namespace lathe
