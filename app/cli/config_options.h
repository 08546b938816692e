// The flags by which a command takes a run's settings: --preset, --config, --set, and one flag a setting.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/run_config.h"

namespace lathe::cli {

// Adds the flags to a command at construction and reads them after parsing. CLI11 keeps pointers into this
// object: hold it (for example in a shared_ptr that the command's callback captures) as long as the command.
class ConfigOptions {
 public:
  explicit ConfigOptions(CLI::App& command);
  ConfigOptions(const ConfigOptions&) = delete;
  ConfigOptions& operator=(const ConfigOptions&) = delete;

  // The settings asked for: `base` (or, with --preset, that preset), then --config's file over it, then
  // flags and --set over that, in the order of the command line. Ranges and rules are not checked: call
  // require_valid(). Throws NotFound, Io or InvalidConfig.
  RunConfig config(const RunConfig& base = {}) const;

  // Whether the command line names any setting, preset or file.
  bool given() const;

 private:
  CLI::App& command_;
  std::string preset_;
  std::string file_;
  CLI::Option* set_ = nullptr;
  std::vector<CLI::Option*> flags_;  // in the order of settings()
};

// For arguments no command expected: "Did you mean --model.layers?" for each that looks like a mistyped
// setting; empty when none does.
std::string flag_suggestions(const std::vector<std::string>& unexpected);

}  // namespace lathe::cli
