#include "core/config/presets.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/config/config_json.h"
#include "core/config/resources.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> preset_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(resources_folder() / "presets")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Grows with the number of parameters of the blocks; only to sort by.
std::int64_t model_size(const RunConfig& config) {
  const RunConfig::Model& model = config.model;
  return model.layers * model.hidden * (model.hidden + model.ffn);
}

}  // namespace

std::vector<PresetInfo> list_presets() {
  std::vector<std::pair<std::int64_t, PresetInfo>> presets;
  for (const fs::path& path : preset_files()) {
    const nlohmann::json document = read_json_file(path);
    presets.emplace_back(model_size(load_config(path)),
                         PresetInfo{to_utf8(path.stem()), document.value("about", ""), path});
  }
  std::stable_sort(presets.begin(), presets.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PresetInfo> sorted;
  for (auto& [size, preset] : presets) sorted.push_back(std::move(preset));
  return sorted;
}

RunConfig load_preset(std::string_view name) {
  std::string known;
  for (const fs::path& path : preset_files()) {
    if (to_utf8(path.stem()) == name) return load_config(path);
    known += (known.empty() ? "" : ", ") + to_utf8(path.stem());
  }
  throw Error(ErrorCode::NotFound, fmt::format("There is no preset '{}'.", name),
              fmt::format("The presets are: {}.", known));
}

}  // namespace lathe
