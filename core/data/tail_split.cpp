#include "core/data/tail_split.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/data/split_writer.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "core/platform/mapped_file.h"

namespace lathe {

namespace fs = std::filesystem;

static fs::path index_path(const fs::path& folder, Split split) {
  return folder / (std::string(split_name(split)) + ".idx");
}
static fs::path mask_path(const fs::path& shard) {
  return fs::path(shard).replace_extension(".mask");
}

static int64_t start_at(const MappedFile& index, int64_t document) {
  uint64_t start = 0;
  std::memcpy(&start, index.bytes().data() + document * 8, 8);
  return static_cast<int64_t>(start);
}

// The last document that begins at or before `position`.
static int64_t document_before(const MappedFile& index, int64_t position) {
  int64_t low = 0, high = index.size() / 8;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (start_at(index, middle) <= position ? low : high) = middle;
  }
  return low;
}

int64_t tail_begin(const fs::path& folder, const SplitEntry& train, double fraction) {
  if (train.tokens < 4) return 0;
  const auto wanted = std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(train.tokens) * fraction),
                                          2, train.tokens / 2);
  const MappedFile index(index_path(folder, Split::Train));
  const int64_t start = start_at(index, document_before(index, train.tokens - wanted));
  return train.tokens - start > train.tokens / 2 ? train.tokens - wanted : start;
}

// Copies train's tokens [cut, end) with their masks and document starts.
static SplitEntry write_tail(const fs::path& folder, const DatasetManifest& manifest, int64_t cut,
                             int64_t shard_tokens) {
  const SplitEntry& train = manifest.train;
  SplitWriter writer(folder, Split::Validation, manifest.bytes_per_token, train.has_mask, shard_tokens);
  const MappedFile index(index_path(folder, Split::Train));
  int64_t document = document_before(index, cut);
  std::vector<int32_t> ids;
  std::vector<uint8_t> mask;
  int64_t begin = 0;
  for (const ShardEntry& shard : train.shards) {
    const int64_t end = begin + shard.tokens;
    if (end > cut) {
      const MappedFile tokens(folder / from_utf8(shard.file));
      const MappedFile bits =
          train.has_mask ? MappedFile(mask_path(folder / from_utf8(shard.file))) : MappedFile();
      for (int64_t at = std::max(begin, cut); at < end;) {
        // Up to the next document start, and not more than a buffer at once.
        while (document < train.documents && start_at(index, document) < at) ++document;
        if (at == cut || (document < train.documents && start_at(index, document) == at))
          writer.begin_document();
        while (document < train.documents && start_at(index, document) <= at) ++document;
        const int64_t next = document < train.documents ? start_at(index, document) : train.tokens;
        const int64_t count = std::min({next, end, at + (int64_t{1} << 18)}) - at;
        ids.assign(static_cast<size_t>(count), 0);
        mask.assign(train.has_mask ? static_cast<size_t>(count) : 0, 0);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t token = at - begin + i;
          std::memcpy(&ids[static_cast<size_t>(i)], tokens.bytes().data() + token * manifest.bytes_per_token,
                      static_cast<size_t>(manifest.bytes_per_token));
          if (train.has_mask) {
            const auto byte = std::to_integer<unsigned>(bits.bytes()[static_cast<size_t>(token / 8)]);
            mask[static_cast<size_t>(i)] = (byte >> (token % 8)) & 1u;
          }
        }
        writer.add(ids, mask);
        at += count;
      }
    }
    begin = end;
  }
  return writer.close();
}

// Shortens a file and brings it to the medium.
static void cut_file(const fs::path& path, int64_t bytes) {
  fs::resize_file(path, static_cast<uintmax_t>(bytes));
  DurableFile file(path, DurableFile::Open::Append);
  file.sync();
  file.close();
}

static void cut_train(const fs::path& folder, DatasetManifest& manifest, int64_t cut) {
  SplitEntry& train = manifest.train;
  while (train.tokens > cut) {
    ShardEntry& shard = train.shards.back();
    const fs::path path = folder / from_utf8(shard.file);
    const int64_t keep = std::max<int64_t>(shard.tokens - (train.tokens - cut), 0);
    train.tokens -= shard.tokens - keep;
    if (keep == 0) {
      fs::remove(path);
      if (train.has_mask) fs::remove(mask_path(path));
      train.shards.pop_back();
      continue;
    }
    shard.tokens = keep;
    cut_file(path, keep * manifest.bytes_per_token);
    shard.hash = hash_file_hex(path);
    if (train.has_mask) {
      cut_file(mask_path(path), (keep + 7) / 8);
      shard.mask_hash = hash_file_hex(mask_path(path));
    }
  }
  const fs::path index = index_path(folder, Split::Train);
  train.documents = document_before(MappedFile(index), cut - 1) + 1;
  cut_file(index, train.documents * 8);
  train.index_hash = hash_file_hex(index);
}

void move_tail(const fs::path& folder, DatasetManifest& manifest, int64_t cut, int64_t shard_tokens) {
  manifest.validation = write_tail(folder, manifest, cut, shard_tokens);
  cut_train(folder, manifest, cut);
}

void rename_split(const fs::path& folder, DatasetManifest& manifest, Split from, Split to) {
  const std::string old_name(split_name(from)), new_name(split_name(to));
  for (ShardEntry& shard : manifest[from].shards) {
    const fs::path old_path = folder / from_utf8(shard.file);
    shard.file.replace(0, old_name.size(), new_name);
    const fs::path new_path = folder / from_utf8(shard.file);
    rename_path(old_path, new_path);
    if (manifest[from].has_mask) rename_path(mask_path(old_path), mask_path(new_path));
  }
  if (manifest[from].documents > 0) rename_path(index_path(folder, from), index_path(folder, to));
  manifest[to] = manifest[from];
  manifest[from] = SplitEntry{};
  manifest[from].has_mask = manifest[to].has_mask;
}

}  // namespace lathe
