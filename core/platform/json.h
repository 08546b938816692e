// JSON out of files that anybody may have changed. nlohmann's parser itself follows any depth and its numbers
// convert to whatever is asked for; copying, comparing and printing what it returns recurse.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lathe {

inline constexpr int64_t kMaxJsonDepth = 64;  // far above any file of ours, far below the stack's end

// How deep the brackets of a JSON text nest, whatever else may be wrong with it.
int64_t json_depth(std::string_view text);

// Throws Json::exception when the text isn't JSON or nests deeper than kMaxJsonDepth.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  if (json_depth(text) > kMaxJsonDepth)
    throw Json::other_error::create(
        501, "it is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels", nullptr);
  return Json::parse(text);
}

// A whole number from `low` to `high`. Throws Json::exception for anything else.
template <class Json>
int64_t json_integer(const Json& value, int64_t low = std::numeric_limits<int64_t>::min(),
                     int64_t high = std::numeric_limits<int64_t>::max()) {
  const bool fits = value.is_number_unsigned()
                        ? value.template get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()}
                        : value.is_number_integer();
  const int64_t number = fits ? value.template get<int64_t>() : 0;
  if (!fits || number < low || number > high)
    throw Json::other_error::create(502, "a whole number is missing or out of range", nullptr);
  return number;
}

// A count of anything: not negative, and exact as a double too.
template <class Json>
int64_t json_count(const Json& value) {
  return json_integer(value, 0, int64_t{1} << 53);
}

}  // namespace lathe
