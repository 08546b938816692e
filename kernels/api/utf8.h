// UTF-8: strict (no overlong forms, surrogates or values above U+10FFFF).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lathe {

// What stands at the beginning of `text`.
struct Utf8Unit {
  size_t size = 0;          // bytes of the character, 0 when it isn't valid
  bool incomplete = false;  // not valid yet, but more bytes may make it so
};
Utf8Unit utf8_unit(std::string_view text);

// Offset of the first byte that isn't part of valid UTF-8.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// The largest n <= text.size() at which `text` may be cut without splitting a character.
size_t utf8_floor(std::string_view text);

// `text` with every byte that isn't part of a valid UTF-8 sequence replaced by U+FFFD: fit to be printed,
// shown and written as JSON.
std::string valid_utf8(std::string_view text);

}  // namespace lathe
