// Reads a whole dataset against its manifest.
#include <fmt/format.h>

#include <algorithm>

#include "core/data/dataset.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

namespace {

class Verifier {
 public:
  Verifier(const Dataset& dataset, const std::function<bool(int64_t, int64_t)>& progress)
      : dataset_(dataset), progress_(progress) {
    const DatasetManifest& manifest = dataset.manifest();
    for (const Split split : {Split::Train, Split::Validation}) {
      total_ += manifest[split].tokens * manifest.bytes_per_token + manifest[split].documents * 8;
      if (manifest[split].has_mask) total_ += manifest[split].tokens / 8;
    }
  }

  void run() {
    const DatasetManifest& manifest = dataset_.manifest();
    for (const Split split : {Split::Train, Split::Validation}) {
      for (const ShardEntry& shard : manifest[split].shards) {
        const fs::path path = dataset_.folder() / from_utf8(shard.file);
        check(path, shard.hash,
              [&](std::span<const std::byte> bytes, int64_t offset) { check_ids(path, bytes, offset); });
        if (manifest[split].has_mask) check(fs::path(path).replace_extension(".mask"), shard.mask_hash, {});
      }
      if (manifest[split].documents > 0) check_index(split);
    }
    if (const auto tokenizer = dataset_.tokenizer_path()) check(*tokenizer, manifest.tokenizer_hash, {});
  }

 private:
  using Look = std::function<void(std::span<const std::byte>, int64_t)>;

  void check(const fs::path& path, const std::string& expected, const Look& look) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      throw Error(ErrorCode::CorruptFile, fmt::format("{} is missing.", to_utf8(path)),
                  "Build the dataset again.");
    }
    const MappedFile file(path, MappedFile::Access::Sequential);
    Hasher hasher;
    constexpr int64_t piece = int64_t{16} << 20;
    for (int64_t offset = 0; offset < file.size(); offset += piece) {
      const int64_t length = std::min(piece, file.size() - offset);
      const auto bytes = file.bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(length));
      hasher.add(bytes);
      if (look) look(bytes, offset);
      file.forget(offset, length);
      done_ += length;
      if (progress_ && !progress_(std::min(done_, total_), total_)) {
        throw Error(ErrorCode::Cancelled, "Verifying was stopped.");
      }
    }
    if (hasher.hex() != expected) {
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("{} has changed since it was written: its hash is {}, the manifest says {}.",
                              to_utf8(path), hasher.hex(), expected),
                  "Build the dataset again, or restore the file from a copy.");
    }
  }

  void check_ids(const fs::path& path, std::span<const std::byte> bytes, int64_t offset) const {
    const DatasetManifest& manifest = dataset_.manifest();
    const auto scan = [&](auto zero) {
      using Id = decltype(zero);
      const std::span ids(reinterpret_cast<const Id*>(bytes.data()), bytes.size() / sizeof(Id));
      const auto bad =
          std::find_if(ids.begin(), ids.end(), [&](Id id) { return int64_t{id} >= manifest.vocab; });
      if (bad == ids.end()) return;
      throw Error(ErrorCode::CorruptFile,
                  fmt::format("{}: token {} is {}, but the vocabulary has {}.", to_utf8(path),
                              offset / manifest.bytes_per_token + (bad - ids.begin()), *bad, manifest.vocab),
                  "Build the dataset again.");
    };
    if (manifest.bytes_per_token == 2) {
      scan(uint16_t{});
    } else {
      scan(uint32_t{});
    }
  }

  void check_index(Split split) {
    const fs::path path = dataset_.folder() / (std::string(split_name(split)) + ".idx");
    check(path, dataset_.manifest()[split].index_hash, {});
    int64_t before = -1;
    for (int64_t document = 0; document < dataset_.documents(split); ++document) {
      const int64_t begin = dataset_.document_begin(split, document);
      if (begin <= before) {
        throw Error(ErrorCode::CorruptFile,
                    fmt::format("{}: document {} begins at {}, not after {}.", to_utf8(path), document, begin,
                                before),
                    "Build the dataset again.");
      }
      before = begin;
    }
  }

  const Dataset& dataset_;
  const std::function<bool(int64_t, int64_t)>& progress_;
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace

void verify_dataset(const fs::path& folder, const std::function<bool(int64_t, int64_t)>& progress) {
  const Dataset dataset(folder);
  Verifier(dataset, progress).run();
}

}  // namespace lathe
