// The part of files.h that is the same everywhere.
#include "core/platform/files.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <random>
#include <system_error>
#include <utility>

#include "core/platform/mapped_file.h"
#include "core/platform/process.h"
#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

void write_file_atomically(const fs::path& path, std::string_view content) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  fs::path temporary = folder / path.filename();
  temporary += ".tmp-" + unique_name();
  try {
    DurableFile file(temporary, DurableFile::Open::CreateNew);
    file.write(content);
    file.sync();
    file.close();
    rename_path(temporary, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  sync_folder(folder);
}

std::string read_file(const fs::path& path, int64_t max_bytes) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw Error(ErrorCode::Io, fmt::format("{} is a folder, not a file.", to_utf8(path)),
                "Name a file in it.");
  }
  const MappedFile file(path, MappedFile::Access::Sequential);
  if (file.size() > max_bytes) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} has {}, more than the {} such a file may have.", to_utf8(path),
                            bytes_text(file.size()), bytes_text(max_bytes)),
                "Check that this is the file you meant.");
  }
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, -1)), size_(other.size_) {}

DurableFile& DurableFile::operator=(DurableFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  std::swap(size_, other.size_);
  return *this;
}

void create_reserved_file(const fs::path& path, int64_t bytes) {
  try {
    DurableFile file(path, DurableFile::Open::Truncate);
    // Written, not just allocated: every file system then really holds the blocks. Not zeros, which some
    // (btrfs, ZFS, NTFS with compression) would store as nothing.
    std::minstd_rand random(1);
    std::array<uint32_t, 16384> block;
    for (auto& word : block) word = static_cast<uint32_t>(random());
    while (file.size() < bytes) {
      const int64_t size = std::min<int64_t>(bytes - file.size(), sizeof(block));
      file.write(std::as_bytes(std::span(block)).first(static_cast<size_t>(size)));
    }
    file.sync();
    file.close();
  } catch (...) {
    std::error_code ignored;
    fs::remove(path, ignored);
    throw;
  }
}

int64_t free_disk_bytes(const fs::path& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path, error);
  while (!error && !existing.empty() && !fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
    error.clear();
  }
  const fs::space_info space = fs::space(existing, error);
  if (error) {
    throw Error(ErrorCode::Io,
                fmt::format("Could not ask for the free space at {}: {}.", to_utf8(path), error.message()),
                "Check the path.");
  }
  return static_cast<int64_t>(space.available);
}

std::string unique_name() {
  // 9 characters of milliseconds (good until the year 5188), then process, counter and chance: two processes
  // that start in the same millisecond on two machines still differ.
  static std::atomic<uint32_t> counter{0};
  static const uint64_t random = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) ^ device();
  }();
  const auto base36 = [](uint64_t value, size_t digits) {
    std::string text(digits, '0');
    for (size_t i = digits; i-- > 0; value /= 36)
      text[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[value % 36];
    return text;
  };
  uint64_t mixed = random ^ (static_cast<uint64_t>(process_id()) << 32) ^
                   (uint64_t{counter.fetch_add(1)} * 0x9e3779b97f4a7c15ull);
  mixed = (mixed ^ (mixed >> 31)) * 0xbf58476d1ce4e5b9ull;
  return base36(static_cast<uint64_t>(wall_clock_ms()), 9) + base36(mixed ^ (mixed >> 29), 8);
}

TemporaryFolder::TemporaryFolder(std::string_view prefix, const fs::path& parent) {
  path_ = (parent.empty() ? fs::temp_directory_path() : parent) /
          from_utf8(std::string(prefix) + "-" + unique_name());
  std::error_code error;
  if (!fs::create_directories(path_, error)) {
    throw Error(ErrorCode::Io, fmt::format("Could not create {}: {}.", to_utf8(path_), error.message()),
                "Check the system's temporary folder.");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string to_utf8(const fs::path& path) {
  const std::u8string text = path.generic_u8string();
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

fs::path from_utf8(std::string_view text) {
  return fs::path(std::u8string(reinterpret_cast<const char8_t*>(text.data()), text.size()));
}

std::string bytes_text(int64_t bytes) {
  static constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace lathe
