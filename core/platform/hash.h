// XXH3: checksums of files and identities of documents. Fast, not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

// Streaming 128-bit hash. hex() may be asked at any time and more may be added after it.
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void reset();
  std::string hex() const;  // 32 lower-case digits, the canonical big-endian form `xxh128sum` prints

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_hex(std::span<const std::byte> bytes);
inline std::string hash_hex(std::string_view text) {
  return hash_hex(std::as_bytes(std::span(text)));
}
uint64_t hash64(std::string_view text, uint64_t seed = 0);

// Hash of a file's content, read in pieces. Throws NotFound or Io.
std::string hash_file_hex(const std::filesystem::path& path);

}  // namespace lathe
