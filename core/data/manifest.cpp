#include "core/data/manifest.h"

#include <fmt/format.h>

#include "core/platform/files.h"
#include "core/platform/json.h"
#include "kernels/api/error.h"

namespace lathe {

using nlohmann::json;

std::string_view split_name(Split split) {
  return split == Split::Train ? "train" : "validation";
}

static json split_to_json(const SplitEntry& split) {
  json shards = json::array();
  for (const ShardEntry& shard : split.shards) {
    json entry = {{"file", shard.file}, {"tokens", shard.tokens}, {"hash", shard.hash}};
    if (split.has_mask) entry["mask_hash"] = shard.mask_hash;
    shards.push_back(std::move(entry));
  }
  return {{"tokens", split.tokens},
          {"documents", split.documents},
          {"loss_mask", split.has_mask},
          {"index_hash", split.index_hash},
          {"shards", std::move(shards)}};
}

json manifest_to_json(const DatasetManifest& manifest) {
  json sources = json::array();
  for (const SourceEntry& source : manifest.sources) {
    sources.push_back({{"path", source.path},
                       {"bytes", source.bytes},
                       {"documents", source.documents},
                       {"tokens", source.tokens}});
  }
  return {{"format", "lathe-dataset"},
          {"version", DatasetManifest::version},
          {"origin", manifest.origin},
          {"created", manifest.created},
          {"vocab", manifest.vocab},
          {"bytes_per_token", manifest.bytes_per_token},
          {"unk", manifest.unk},
          {"bos", manifest.bos},
          {"eos", manifest.eos},
          {"tokenizer_hash", manifest.tokenizer_hash},
          {"validation_fraction", manifest.validation_fraction},
          {"text_bytes", manifest.text_bytes},
          {"skipped_records", manifest.skipped_records},
          {"splits",
           {{"train", split_to_json(manifest.train)}, {"validation", split_to_json(manifest.validation)}}},
          {"sources", std::move(sources)}};
}

namespace {

// Reads a manifest's JSON field by field, so that every complaint names the field.
class ManifestReader {
 public:
  explicit ManifestReader(const std::string& where) : where_(where) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::CorruptFile, fmt::format("{}: {}.", where_, what),
                "Build the dataset again, or restore the file from a copy.");
  }

  const json& member(const json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) fail(fmt::format("\"{}\" is missing", key));
    return object.at(key);
  }
  int64_t integer(const json& object, const char* key, int64_t low, int64_t high) const {
    const json& value = member(object, key);
    if (!value.is_number_integer()) fail(fmt::format("\"{}\" is not a whole number", key));
    const bool huge = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX};
    const int64_t number = huge ? INT64_MAX : value.get<int64_t>();
    if (huge || number < low || number > high) {
      fail(fmt::format("\"{}\" is {}, outside {} to {}", key, value.dump(), low, high));
    }
    return number;
  }
  std::string text(const json& object, const char* key) const {
    const json& value = member(object, key);
    if (!value.is_string()) fail(fmt::format("\"{}\" is not a text", key));
    return value.get<std::string>();
  }
  const json& list(const json& object, const char* key) const {
    const json& value = member(object, key);
    if (!value.is_array()) fail(fmt::format("\"{}\" is not a list", key));
    return value;
  }
  bool flag(const json& object, const char* key) const {
    const json& value = member(object, key);
    if (!value.is_boolean()) fail(fmt::format("\"{}\" is neither true nor false", key));
    return value.get<bool>();
  }

  SplitEntry split(const json& object) const {
    SplitEntry result;
    result.tokens = integer(object, "tokens", 0, most_tokens);
    result.documents = integer(object, "documents", 0, result.tokens);
    result.has_mask = flag(object, "loss_mask");
    result.index_hash = text(object, "index_hash");
    int64_t sum = 0;
    for (const json& entry : list(object, "shards")) {
      ShardEntry shard;
      shard.file = text(entry, "file");
      // Never follow a manifest out of its folder.
      if (shard.file.empty() || shard.file.find_first_of("/\\:") != std::string::npos ||
          shard.file[0] == '.') {
        fail(fmt::format("\"{}\" is not a plain file name", shard.file));
      }
      shard.tokens = integer(entry, "tokens", 1, most_tokens);
      shard.hash = text(entry, "hash");
      if (result.has_mask) shard.mask_hash = text(entry, "mask_hash");
      sum += shard.tokens;
      if (sum > result.tokens) break;
      result.shards.push_back(std::move(shard));
    }
    if (sum != result.tokens) fail("the shards' \"tokens\" don't add up to their split's");
    if ((result.documents == 0) != (result.tokens == 0)) fail("a split has tokens without documents");
    return result;
  }

 private:
  static constexpr int64_t most_tokens = int64_t{1} << 48;
  const std::string& where_;
};

}  // namespace

DatasetManifest manifest_from_json(std::string_view text, const std::string& where) {
  const ManifestReader read(where);
  json root;
  try {
    root = parse_json(text);
  } catch (const json::exception& error) {
    read.fail(fmt::format("not valid JSON ({})", error.what()));
  }
  if (!root.is_object() || root.value("format", json()) != "lathe-dataset") {
    read.fail("not the manifest of a Lathe dataset");
  }
  const int64_t version = read.integer(root, "version", 0, INT64_MAX);
  if (version != DatasetManifest::version) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: the dataset has format version {}, this Lathe reads version {}.", where,
                            version, DatasetManifest::version),
                version > DatasetManifest::version
                    ? "Use a newer Lathe, or build the dataset again with this one."
                    : "Build the dataset again.");
  }
  DatasetManifest manifest;
  manifest.origin = read.text(root, "origin");
  manifest.created = read.text(root, "created");
  manifest.bytes_per_token = read.integer(root, "bytes_per_token", 2, 4);
  if (manifest.bytes_per_token == 3) read.fail("\"bytes_per_token\" is 3, neither 2 nor 4");
  manifest.vocab = read.integer(root, "vocab", 1, manifest.bytes_per_token == 2 ? 65536 : INT32_MAX);
  manifest.unk = read.integer(root, "unk", -1, manifest.vocab - 1);
  manifest.bos = read.integer(root, "bos", -1, manifest.vocab - 1);
  manifest.eos = read.integer(root, "eos", -1, manifest.vocab - 1);
  manifest.tokenizer_hash = read.text(root, "tokenizer_hash");
  manifest.text_bytes = read.integer(root, "text_bytes", 0, INT64_MAX);
  manifest.skipped_records = read.integer(root, "skipped_records", 0, INT64_MAX);
  const json& fraction = read.member(root, "validation_fraction");
  if (!fraction.is_number()) read.fail("\"validation_fraction\" is not a number");
  manifest.validation_fraction = fraction.get<double>();
  for (const json& entry : read.list(root, "sources")) {
    SourceEntry source;
    source.path = read.text(entry, "path");
    source.bytes = read.integer(entry, "bytes", 0, INT64_MAX);
    source.documents = read.integer(entry, "documents", 0, INT64_MAX);
    source.tokens = read.integer(entry, "tokens", 0, INT64_MAX);
    manifest.sources.push_back(std::move(source));
  }
  const json& splits = read.member(root, "splits");
  manifest.train = read.split(read.member(splits, "train"));
  manifest.validation = read.split(read.member(splits, "validation"));
  return manifest;
}

DatasetManifest load_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / DatasetManifest::file_name;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    throw Error(
        ErrorCode::NotFound,
        fmt::format("{} is not a dataset: it holds no {}.", to_utf8(folder), DatasetManifest::file_name),
        "Give the folder that `lathe data build` or `lathe data import` made.");
  }
  return manifest_from_json(read_file(file, int64_t{256} << 20), to_utf8(file));
}

}  // namespace lathe
