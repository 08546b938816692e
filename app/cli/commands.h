// What every command of `lathe` shares: the global options, and one registration function per family.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/api/error.h"

namespace lathe::cli {

// Global options, valid for every command. A command's callback runs after parsing, so it may read them.
struct Context {
  bool json = false;           // --json: one JSON document (or one line a row) on standard output
  std::filesystem::path home;  // --home or LATHE_HOME; empty: the platform's data folder
  int exit_code = 0;           // what main returns; a callback may set it
};

// Prints `document` as JSON, or calls `text` for people, as the context says.
void print(const Context& context, const nlohmann::json& document, const std::function<void()>& text);

// Prints an error to standard error (or as JSON on standard output) and returns the exit code for it.
int report(const Context& context, const Error& error);

void register_settings_command(CLI::App& app, Context& context);
void register_data_commands(CLI::App& app, Context& context);
void register_runs_commands(CLI::App& app, Context& context);
void register_train_commands(CLI::App& app, Context& context);
void register_estimate_command(CLI::App& app, Context& context);
void register_profile_command(CLI::App& app, Context& context);
void register_plan_command(CLI::App& app, Context& context);
void register_bench_command(CLI::App& app, Context& context);
void register_doctor_command(CLI::App& app, Context& context);

}  // namespace lathe::cli
