// manifest.json of a dataset folder: the only description of what the other files hold.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

enum class Split { Train = 0, Validation = 1 };
std::string_view split_name(Split split);  // "train", "validation"

struct ShardEntry {
  std::string file;  // relative to the folder, no separators
  int64_t tokens = 0;
  std::string hash;
  std::string mask_hash;  // empty when the split has no mask; the file is <name>.mask
};

struct SplitEntry {
  int64_t tokens = 0;
  int64_t documents = 0;
  bool has_mask = false;
  std::string index_hash;
  std::vector<ShardEntry> shards;
};

// One input file, as it was named on the command line.
struct SourceEntry {
  std::string path;
  int64_t bytes = 0;  // on disk, compressed
  int64_t documents = 0;
  int64_t tokens = 0;
};

struct DatasetManifest {
  static constexpr int64_t version = 1;
  static constexpr std::string_view file_name = "manifest.json";
  static constexpr std::string_view tokenizer_file = "tokenizer.model";

  int64_t vocab = 0;
  int64_t bytes_per_token = 2;  // 2: uint16, 4: uint32
  int64_t unk = -1, bos = -1, eos = -1;
  std::string tokenizer_hash;  // empty: no tokenizer in the folder
  std::string created;         // UTC
  std::string origin;          // "build" or "import nanogpt" …
  double validation_fraction = 0;
  int64_t text_bytes = 0;  // UTF-8 text that went in, 0 for imports
  int64_t skipped_records = 0;
  std::vector<SourceEntry> sources;
  SplitEntry train, validation;

  const SplitEntry& operator[](Split split) const { return split == Split::Train ? train : validation; }
  SplitEntry& operator[](Split split) { return split == Split::Train ? train : validation; }
};

nlohmann::json manifest_to_json(const DatasetManifest& manifest);

// `where` names the file in messages. Throws Unsupported for another version, CorruptFile for anything
// malformed or contradictory (counts that don't add up, a file name that leaves the folder).
DatasetManifest manifest_from_json(std::string_view text, const std::string& where);

DatasetManifest load_manifest(const std::filesystem::path& folder);

}  // namespace lathe
