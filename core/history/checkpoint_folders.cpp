#include "core/history/checkpoint_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/platform/files.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

std::string checkpoint_relative_path(int64_t step) {
  return fmt::format("checkpoints/step-{:08d}", step);
}

std::vector<int64_t> list_checkpoints(const fs::path& run_folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_folder / "checkpoints", error)) {
    const std::string name = to_utf8(entry.path().filename());
    if (name.rfind("step-", 0) != 0 || !fs::exists(entry.path() / kCheckpointManifest)) continue;
    const std::string digits = name.substr(5);
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
      continue;
    steps.push_back(std::stoll(digits));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

CheckpointRow describe_checkpoint(const fs::path& run_folder, int64_t step) {
  CheckpointRow row;
  row.step = step;
  row.path = checkpoint_relative_path(step);
  row.complete = true;
  try {
    const fs::path folder = run_folder / from_utf8(row.path);
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".bin") row.bytes += static_cast<int64_t>(entry.file_size());
    }
    // File times count from an epoch of their own: through the age, on this system's clock.
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(folder / kCheckpointManifest);
    row.created_ms = wall_clock_ms() - std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::Io, fmt::format("{}: {}", to_utf8(run_folder), error.code().message()));
  }
  return row;
}

}  // namespace lathe
