// Text from anywhere, made fit to be printed, shown and written as JSON.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

// `text` with every byte that isn't part of a valid UTF-8 sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace lathe
