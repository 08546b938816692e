#include "kernels/api/utf8.h"

#include <cstdint>
#include <cstring>

namespace lathe {

Utf8Unit utf8_unit(std::string_view text) {
  if (text.empty()) return {0, true};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, false};
  // Length, and the range of the second byte, which is where overlong forms, surrogates and too large values
  // show.
  size_t size = 0;
  unsigned low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {};
  }
  for (size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {0, true};
    if (byte(i) < low || byte(i) > high) return {};
    low = 0x80;
    high = 0xBF;
  }
  return {size, false};
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    // Eight ASCII bytes at a time: most text.
    uint64_t word = 0;
    while (i + 8 <= text.size()) {
      std::memcpy(&word, text.data() + i, 8);
      if (word & 0x8080808080808080ull) break;
      i += 8;
    }
    if (i == text.size()) break;
    const Utf8Unit unit = utf8_unit(text.substr(i, 4));
    if (unit.size == 0) return i;
    i += unit.size;
  }
  return std::nullopt;
}

size_t utf8_floor(std::string_view text) {
  // Look back over at most three continuation bytes for a lead byte whose character isn't complete.
  for (size_t back = 1; back <= 4 && back <= text.size(); ++back) {
    const size_t at = text.size() - back;
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0) == 0x80) continue;
    return utf8_unit(text.substr(at)).incomplete ? at : text.size();
  }
  return text.size();
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (const auto bad = first_invalid_utf8(text)) {
    out.append(text.substr(0, *bad)).append("\xEF\xBF\xBD");
    text.remove_prefix(*bad + 1);
  }
  return out.append(text);
}

}  // namespace lathe
