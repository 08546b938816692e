// Writes a dataset folder so that a half-written one never looks like a dataset: everything goes to a folder
// beside the target, the manifest last, then the folder gets its name. Whatever ends the writer early removes
// it; what a killed process left is removed by the next writer of the same dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/data/manifest.h"
#include "core/platform/file_lock.h"
#include "core/platform/files.h"

namespace lathe {

class SplitWriter;

struct WriterOptions {
  bool replace = false;               // an existing dataset at the target is replaced
  bool loss_mask = false;             // every part comes with mask bits
  double validation_fraction = 0.01;  // 0: no validation split
  int64_t shard_tokens = int64_t{1} << 29;
};

// A document, or a part of at most a few MiB of one that is longer.
struct TokenPart {
  std::span<const int32_t> ids;   // below the vocabulary; the last part ends in EOS where the source has one
  std::span<const uint8_t> mask;  // empty, or one byte an id: 1 = counts as a target
  uint64_t content_hash = 0;      // decides between training and validation
  bool continues = false;         // a former part began the document
  bool ends = true;               // no later part follows
};

class DatasetWriter {
 public:
  // Makes the temporary folder. `manifest` brings vocab, ids, origin; counts and hashes are filled in here.
  // Throws InvalidArgument when the target exists (and `replace` is off, or it isn't a dataset), Busy when
  // another process is building it, Io, DiskFull.
  DatasetWriter(const std::filesystem::path& target, DatasetManifest manifest, const WriterOptions& options);
  ~DatasetWriter();

  // Which split: validation when content_hash, as a fraction of 2^64, lies below validation_fraction. So a
  // document stays where it is when others are added, and equal documents go together. Parts of a long
  // document are decided one by one (one under 64 tokens goes with the part before it); where they go apart,
  // EOS closes the part that was left. `forced` overrides the hash.
  void add(const TokenPart& part, std::optional<Split> forced = std::nullopt);

  int64_t tokens() const;
  DatasetManifest& manifest() { return manifest_; }

  // Cuts the tail off for validation when no document was chosen (few, long documents): from the last
  // document start that leaves at least the fraction; inside the last document when that is more than half of
  // everything. Then writes tokenizer (may be empty) and manifest and puts the folder in place. Throws
  // InvalidArgument when no token was added.
  DatasetManifest finish(const std::string& tokenizer_model);

 private:
  void remove_leftovers() const;
  void balance();

  std::filesystem::path target_;
  std::filesystem::path folder_;
  std::optional<FileLock> lock_;
  DatasetManifest manifest_;
  WriterOptions options_;
  std::unique_ptr<SplitWriter> splits_[2];
  std::optional<Split> open_;  // where the last part went, while its document goes on
  bool finished_ = false;
};

}  // namespace lathe
