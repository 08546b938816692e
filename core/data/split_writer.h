// Writes one split of a dataset: token shards, mask bits, document starts. Private to core/data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/data/manifest.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"

namespace lathe {

class SplitWriter {
 public:
  SplitWriter(std::filesystem::path folder, Split split, int64_t bytes_per_token, bool loss_mask,
              int64_t shard_tokens);

  void begin_document();
  void add(std::span<const int32_t> ids, std::span<const uint8_t> mask);
  int64_t tokens() const { return entry_.tokens; }
  int64_t documents() const { return entry_.documents; }

  // Flushes everything to the medium; afterwards nothing can be added. Returns the manifest's part.
  SplitEntry close();

 private:
  void open_shard();
  void close_shard();
  void flush();

  std::filesystem::path folder_;
  Split split_;
  int64_t bytes_per_token_;
  int64_t shard_tokens_;
  SplitEntry entry_;
  DurableFile shard_, mask_, index_;
  Hasher shard_hash_, mask_hash_, index_hash_;
  std::string shard_buffer_, mask_buffer_, index_buffer_;
};

}  // namespace lathe
