#include "core/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "kernels/api/error.h"

namespace lathe {

static_assert(std::endian::native == std::endian::little, "token shards are read in place");

namespace fs = std::filesystem;

static constexpr const char* rebuild_advice = "Build the dataset again, or restore the file from a copy.";

static fs::path mask_path(const fs::path& shard) {
  return fs::path(shard).replace_extension(".mask");
}
static fs::path index_path(const fs::path& folder, Split split) {
  return folder / (std::string(split_name(split)) + ".idx");
}

static MappedFile map_of_size(const fs::path& path, int64_t expected) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ErrorCode::CorruptFile, fmt::format("{} is missing.", to_utf8(path)), rebuild_advice);
  }
  MappedFile file(path);
  if (file.size() != expected) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} has {} bytes; the manifest says {}{}.", to_utf8(path), file.size(), expected,
                            file.size() < expected ? " (it was cut off)" : ""),
                rebuild_advice);
  }
  return file;
}

Dataset::Dataset(const fs::path& folder) : folder_(folder), manifest_(load_manifest(folder)) {
  Hasher hasher;
  hasher.add(fmt::format("{} {} {}\n", manifest_.vocab, manifest_.bytes_per_token, manifest_.tokenizer_hash));
  for (const Split split : {Split::Train, Split::Validation}) {
    open_split(split);
    hasher.add(fmt::format("{} {}\n", split_name(split), manifest_[split].index_hash));
    for (const ShardEntry& shard : manifest_[split].shards) {
      hasher.add(fmt::format("{} {} {}\n", shard.tokens, shard.hash, shard.mask_hash));
    }
  }
  hash_ = hasher.hex();
}

void Dataset::open_split(Split split) {
  const SplitEntry& entry = manifest_[split];
  Stream& stream = streams_[static_cast<size_t>(split)];
  int64_t begin = 0;
  for (const ShardEntry& shard_entry : entry.shards) {
    const fs::path path = folder_ / from_utf8(shard_entry.file);
    Shard shard;
    shard.tokens = map_of_size(path, shard_entry.tokens * manifest_.bytes_per_token);
    if (entry.has_mask) shard.mask = map_of_size(mask_path(path), (shard_entry.tokens + 7) / 8);
    shard.begin = begin;
    shard.count = shard_entry.tokens;
    begin += shard.count;
    stream.shards.push_back(std::move(shard));
  }
  if (entry.documents == 0) return;
  stream.index = map_of_size(index_path(folder_, split), entry.documents * 8);
  if (document_begin(split, 0) != 0 || document_begin(split, entry.documents - 1) >= entry.tokens) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} doesn't fit its tokens.", to_utf8(index_path(folder_, split))),
                rebuild_advice);
  }
}

template <typename Stored>
static Stored copy_ids(const std::byte* from, std::span<int32_t> out) {
  Stored highest = 0;
  const auto* stored = reinterpret_cast<const Stored*>(from);  // maps are page-aligned, offsets whole tokens
  for (size_t i = 0; i < out.size(); ++i) {
    highest = std::max(highest, stored[i]);
    out[i] = static_cast<int32_t>(stored[i]);
  }
  return highest;
}

static void require_range(int64_t offset, size_t count, int64_t tokens) {
  if (offset < 0 || offset > tokens || static_cast<int64_t>(count) > tokens - offset) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("Tokens {} to {} were asked for; the split has {}.", offset,
                            offset + static_cast<int64_t>(count), tokens),
                "Ask for positions inside the dataset (`lathe data info` shows its size).");
  }
}

void Dataset::read(Split split, int64_t offset, std::span<int32_t> out) const {
  require_range(offset, out.size(), tokens(split));
  const auto& shards = stream(split).shards;
  auto shard = std::upper_bound(shards.begin(), shards.end(), offset,
                                [](int64_t at, const Shard& s) { return at < s.begin; });
  if (shard != shards.begin()) --shard;
  while (!out.empty()) {
    const int64_t at = offset - shard->begin;
    const size_t count = std::min(out.size(), static_cast<size_t>(shard->count - at));
    const std::byte* from = shard->tokens.bytes().data() + at * manifest_.bytes_per_token;
    const int64_t highest = manifest_.bytes_per_token == 2 ? copy_ids<uint16_t>(from, out.first(count))
                                                           : copy_ids<uint32_t>(from, out.first(count));
    if (highest >= manifest_.vocab) {
      const auto file = static_cast<size_t>(shard - shards.begin());
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("{}: token id {} between positions {} and {}, but the vocabulary has {}.",
                              to_utf8(folder_ / manifest_[split].shards[file].file), highest, at,
                              at + static_cast<int64_t>(count), manifest_.vocab),
                  "Run `lathe data verify` on the folder and build the dataset again.");
    }
    out = out.subspan(count);
    offset += static_cast<int64_t>(count);
    ++shard;
  }
}

void Dataset::read_loss_mask(Split split, int64_t offset, std::span<uint8_t> out) const {
  require_range(offset, out.size(), tokens(split));
  if (!has_loss_mask(split)) {
    std::fill(out.begin(), out.end(), uint8_t{1});
    return;
  }
  const auto& shards = stream(split).shards;
  auto shard = std::upper_bound(shards.begin(), shards.end(), offset,
                                [](int64_t at, const Shard& s) { return at < s.begin; });
  if (shard != shards.begin()) --shard;
  for (uint8_t& bit : out) {
    while (offset >= shard->begin + shard->count) ++shard;
    const auto at = static_cast<size_t>(offset - shard->begin);
    bit = (std::to_integer<unsigned>(shard->mask.bytes()[at / 8]) >> (at % 8)) & 1u;
    ++offset;
  }
}

int64_t Dataset::document_begin(Split split, int64_t document) const {
  if (document < 0 || document > documents(split)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("Document {} was asked for; the split has {}.", document, documents(split)),
                "Ask for a document inside the dataset.");
  }
  if (document == documents(split)) return tokens(split);
  uint64_t begin = 0;
  std::memcpy(&begin, stream(split).index.bytes().data() + document * 8, 8);
  return static_cast<int64_t>(begin);
}

int64_t Dataset::document_at(Split split, int64_t offset) const {
  require_range(offset, 1, tokens(split));
  int64_t low = 0, high = documents(split);  // the answer is in [low, high)
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (document_begin(split, middle) <= offset ? low : high) = middle;
  }
  return low;
}

std::optional<fs::path> Dataset::tokenizer_path() const {
  if (manifest_.tokenizer_hash.empty()) return std::nullopt;
  return folder_ / DatasetManifest::tokenizer_file;
}

}  // namespace lathe
