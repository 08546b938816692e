#include "core/data/split_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lathe {

static constexpr size_t buffer_bytes = size_t{1} << 20;

static void write_buffer(DurableFile& file, Hasher& hash, std::string& buffer) {
  if (buffer.empty()) return;
  file.write(buffer);
  hash.add(buffer);
  buffer.clear();
}

SplitWriter::SplitWriter(std::filesystem::path folder, Split split, int64_t bytes_per_token, bool loss_mask,
                         int64_t shard_tokens)
    : folder_(std::move(folder)),
      split_(split),
      bytes_per_token_(bytes_per_token),
      shard_tokens_(shard_tokens) {
  entry_.has_mask = loss_mask;
}

void SplitWriter::begin_document() {
  if (!index_.is_open()) {
    index_ = DurableFile(folder_ / (std::string(split_name(split_)) + ".idx"), DurableFile::Open::CreateNew);
  }
  const auto position = static_cast<uint64_t>(entry_.tokens);
  index_buffer_.append(reinterpret_cast<const char*>(&position), sizeof(position));
  ++entry_.documents;
  if (index_buffer_.size() >= buffer_bytes) write_buffer(index_, index_hash_, index_buffer_);
}

void SplitWriter::open_shard() {
  const std::string name = fmt::format("{}-{:05}", split_name(split_), entry_.shards.size());
  entry_.shards.push_back({name + ".bin", 0, {}, {}});
  shard_ = DurableFile(folder_ / (name + ".bin"), DurableFile::Open::CreateNew);
  shard_hash_.reset();
  if (!entry_.has_mask) return;
  mask_ = DurableFile(folder_ / (name + ".mask"), DurableFile::Open::CreateNew);
  mask_hash_.reset();
}

void SplitWriter::add(std::span<const int32_t> ids, std::span<const uint8_t> mask) {
  while (!ids.empty()) {
    if (!shard_.is_open()) open_shard();
    ShardEntry& shard = entry_.shards.back();
    const size_t count =
        std::min({ids.size(), buffer_bytes / 4, static_cast<size_t>(shard_tokens_ - shard.tokens)});
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<uint32_t>(ids[i]);  // little-endian: the low bytes come first
      shard_buffer_.append(reinterpret_cast<const char*>(&id), static_cast<size_t>(bytes_per_token_));
    }
    for (size_t i = 0; entry_.has_mask && i < count; ++i) {
      const auto bit = static_cast<size_t>(shard.tokens) + i;
      if (bit % 8 == 0) mask_buffer_ += '\0';
      const unsigned value = mask.empty() || mask[i] ? 1u << (bit % 8) : 0u;
      mask_buffer_.back() = static_cast<char>(static_cast<unsigned char>(mask_buffer_.back()) | value);
    }
    shard.tokens += static_cast<int64_t>(count);
    entry_.tokens += static_cast<int64_t>(count);
    ids = ids.subspan(count);
    if (!mask.empty()) mask = mask.subspan(count);
    if (shard_buffer_.size() >= buffer_bytes) flush();
    if (shard.tokens == shard_tokens_) close_shard();
  }
}

// Leaves the last mask byte, which more bits may still go into.
void SplitWriter::flush() {
  write_buffer(shard_, shard_hash_, shard_buffer_);
  if (mask_buffer_.size() < 2) return;
  const char last = mask_buffer_.back();
  mask_buffer_.pop_back();
  write_buffer(mask_, mask_hash_, mask_buffer_);
  mask_buffer_.assign(1, last);
}

void SplitWriter::close_shard() {
  write_buffer(shard_, shard_hash_, shard_buffer_);
  shard_.sync();
  shard_.close();
  entry_.shards.back().hash = shard_hash_.hex();
  if (!entry_.has_mask) return;
  write_buffer(mask_, mask_hash_, mask_buffer_);
  mask_.sync();
  mask_.close();
  entry_.shards.back().mask_hash = mask_hash_.hex();
}

SplitEntry SplitWriter::close() {
  if (shard_.is_open()) close_shard();
  if (index_.is_open()) {
    write_buffer(index_, index_hash_, index_buffer_);
    index_.sync();
    index_.close();
    entry_.index_hash = index_hash_.hex();
  }
  return entry_;
}

}  // namespace lathe
