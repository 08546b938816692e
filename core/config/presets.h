// Presets: JSON files under resources/presets that hold only what differs from the defaults.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/run_config.h"

namespace lathe {

struct PresetInfo {
  std::string name;   // file name without .json: "977m"
  std::string about;  // one sentence for people
  std::filesystem::path path;
};

// All presets, smallest model first. Throws NotFound without a resources folder, InvalidConfig on a broken
// file.
std::vector<PresetInfo> list_presets();

// Throws NotFound, naming the known presets, when there is none of that name.
RunConfig load_preset(std::string_view name);

}  // namespace lathe
