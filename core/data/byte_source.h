// The bytes of an input file as a stream, decompressed on the way: plain, .gz and .zst by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace lathe {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Up to `size` bytes into `out`; 0 at the end. Throws Io, or CorruptFile with the offset in the compressed
  // file when that is broken or ends early.
  virtual size_t read(char* out, size_t size) = 0;

  // Bytes of the file on disk that were taken so far, for progress.
  virtual int64_t consumed() const = 0;
};

// Throws NotFound or Io.
std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& path);

// "gz", "zst" or "" by the file's last extension.
std::string compression_of(const std::filesystem::path& path);

}  // namespace lathe
