// A read-only memory map of a whole file, 64-bit sizes. The file must not shrink while mapped: Lathe's own
// data files are written once and never changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace lathe {

class MappedFile {
 public:
  enum class Access { Random, Sequential };

  MappedFile() = default;
  // Throws NotFound or Io. An empty file maps to an empty span.
  explicit MappedFile(const std::filesystem::path& path, Access access = Access::Random);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, static_cast<size_t>(size_)}; }
  int64_t size() const { return size_; }

  // Tells the system that this range will not be read again soon, so that verifying a large file leaves the
  // page cache to others. A hint only.
  void forget(int64_t offset, int64_t length) const;

 private:
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace lathe
