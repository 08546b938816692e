// Where a run's checkpoints lie, and which of them are complete. What is in them is the training layer's
// matter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/history/run_types.h"

namespace lathe {

// Written last, by atomic replace: a folder without it is no checkpoint.
inline constexpr const char* kCheckpointManifest = "manifest.json";

// Of a step's folder, relative to the run's: "checkpoints/step-00000312".
std::string checkpoint_relative_path(int64_t step);

// Steps of the complete checkpoints under a run's folder, ascending; none when there is no such folder.
std::vector<int64_t> list_checkpoints(const std::filesystem::path& run_folder);

// The row that describes a complete checkpoint: bytes of its files, time of its manifest. Throws Io.
CheckpointRow describe_checkpoint(const std::filesystem::path& run_folder, int64_t step);

}  // namespace lathe
