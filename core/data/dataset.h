// A dataset folder, opened for reading: memory-mapped token shards, document starts, loss mask, tokenizer.
//
//   manifest.json        what follows, counts, hashes, sources; written last: without it the folder is no
//   dataset train-00000.bin …    token ids, uint16 or uint32 little-endian, as the vocabulary needs
//   train-00000.mask …   optional loss mask, one bit a token (bit k%8 of byte k/8), 1 = the token counts as a
//   target train.idx            uint64 position of every document's first token, ascending, the first one 0
//   validation-*.bin, validation.idx      the same for the documents held out
//   tokenizer.model      SentencePiece; absent when the tokens were imported without one
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/data/manifest.h"
#include "core/platform/mapped_file.h"

namespace lathe {

class Dataset {
 public:
  // Opens `folder`, checking every size against the manifest (verify_dataset() also checks content). Throws
  // NotFound (no dataset there), Unsupported (a manifest of another version), CorruptFile (a shard that is
  // missing, too short or too long, a malformed manifest).
  explicit Dataset(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const DatasetManifest& manifest() const { return manifest_; }
  int64_t vocab() const { return manifest_.vocab; }

  // A name for exactly this content (order, split, tokenizer); resume compares it. 32 hex digits.
  const std::string& hash() const { return hash_; }

  int64_t tokens(Split split) const { return manifest_[split].tokens; }
  int64_t documents(Split split) const { return manifest_[split].documents; }

  // Copies the tokens [offset, offset + out.size()) of the split's stream; shards are crossed as needed.
  // Throws InvalidArgument beyond the end, CorruptFile for an id at or above the vocabulary.
  void read(Split split, int64_t offset, std::span<int32_t> out) const;

  bool has_loss_mask(Split split) const { return manifest_[split].has_mask; }
  // 1 where the token counts as a target, else 0; all 1 without a mask.
  void read_loss_mask(Split split, int64_t offset, std::span<uint8_t> out) const;

  // Number of the document that holds position `offset` (0-based), by binary search over the index.
  int64_t document_at(Split split, int64_t offset) const;
  // Position of a document's first token; document == documents(split) gives tokens(split).
  int64_t document_begin(Split split, int64_t document) const;

  // Path of tokenizer.model, or nothing.
  std::optional<std::filesystem::path> tokenizer_path() const;

 private:
  struct Shard {
    MappedFile tokens;
    MappedFile mask;
    int64_t begin = 0;  // position of the shard's first token in the split's stream
    int64_t count = 0;
  };
  struct Stream {
    std::vector<Shard> shards;
    MappedFile index;
  };

  void open_split(Split split);
  const Stream& stream(Split split) const { return streams_[static_cast<size_t>(split)]; }

  std::filesystem::path folder_;
  DatasetManifest manifest_;
  std::string hash_;
  Stream streams_[2];
};

// Reads everything: hashes of all files against the manifest, ids below the vocabulary, an ascending index.
// Calls progress(done_bytes, total_bytes) now and then; returning false ends it with Cancelled.
// Throws CorruptFile naming the file and what differs.
void verify_dataset(const std::filesystem::path& folder,
                    const std::function<bool(int64_t done_bytes, int64_t total_bytes)>& progress = {});

}  // namespace lathe
