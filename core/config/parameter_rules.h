// Which parameter rule governs a tensor.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/config/types.h"

namespace lathe {

// Whether the whole of `name` fits `pattern`: * stands for any text (also none), ? for one character.
bool matches_glob(std::string_view pattern, std::string_view name);

// Index of the first rule that matches the tensor; nullopt: the default group.
std::optional<std::size_t> rule_index(const std::vector<ParameterRule>& rules, std::string_view tensor_name);

}  // namespace lathe
