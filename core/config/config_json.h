// RunConfig as JSON: {"model": {"layers": 24, ...}, ...}, in files and in the history.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/config/run_config.h"

namespace lathe {

// Every setting, sections and names in the table's order.
nlohmann::ordered_json to_json(const RunConfig& config);

// Only the settings that differ from `base`: what presets hold.
nlohmann::ordered_json to_json_differences(const RunConfig& config, const RunConfig& base = {});

// Reads settings over `base`; what is missing keeps base's value. A top-level "about" (text for people) is
// allowed. Throws InvalidConfig listing every unknown key (with the nearest known one), every wrong type and
// every unreadable value at once. Ranges are validate()'s business.
RunConfig from_json(const nlohmann::json& document, const RunConfig& base = {});

// Same from text; also rejects malformed JSON and keys given twice, with line and column. `origin` is named
// in errors: a file name, "the history".
RunConfig from_json_text(std::string_view text, const RunConfig& base = {},
                         const std::string& origin = "settings");

// Parsed JSON of a settings file. Throws NotFound, Io, or InvalidConfig naming file, line and column.
nlohmann::json read_json_file(const std::filesystem::path& path);

// A settings file over `base`. Throws NotFound, Io or InvalidConfig, each naming the file.
RunConfig load_config(const std::filesystem::path& path, const RunConfig& base = {});

// Writes every setting; the file is replaced atomically. Throws Io or DiskFull.
void save_config(const RunConfig& config, const std::filesystem::path& path);

}  // namespace lathe
