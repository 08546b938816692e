#include "core/platform/hash.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "core/platform/mapped_file.h"

namespace lathe {

struct Hasher::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

static std::string hex_text(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (const unsigned char byte : canonical.digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (!state_->xxh) throw std::bad_alloc();
  reset();
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::reset() {
  XXH3_128bits_reset(state_->xxh.get());
}

void Hasher::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

std::string Hasher::hex() const {
  return hex_text(XXH3_128bits_digest(state_->xxh.get()));
}

std::string hash_hex(std::span<const std::byte> bytes) {
  return hex_text(XXH3_128bits(bytes.data(), bytes.size()));
}

uint64_t hash64(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::string hash_file_hex(const std::filesystem::path& path) {
  const MappedFile file(path, MappedFile::Access::Sequential);
  Hasher hasher;
  constexpr int64_t piece = int64_t{16} << 20;
  for (int64_t offset = 0; offset < file.size(); offset += piece) {
    const int64_t length = std::min(piece, file.size() - offset);
    hasher.add(file.bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(length)));
    file.forget(offset, length);
  }
  return hasher.hex();
}

}  // namespace lathe
