// What the disks say about a run before it is launched: room for its checkpoints, and data on a path that is
// slow to read.
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lathe {
struct RunConfig;
}

namespace lathe::ui {

struct StorageQuestion {
  std::filesystem::path home;     // where runs are kept
  std::vector<std::string> data;  // training and validation
  std::vector<int64_t> keeps;     // the settings that say how many checkpoints there will be
  bool operator==(const StorageQuestion&) const = default;
};

struct Storage {
  int64_t free_bytes = -1;              // where runs are kept; negative: not known
  std::vector<std::string> on_windows;  // data on a Windows drive seen from Linux
};

StorageQuestion storage_question(const RunConfig& config, const std::filesystem::path& home);
// For a worker: a disk may take seconds to answer. What it doesn't answer isn't known.
Storage ask_storage(const StorageQuestion& question);

// Checkpoints that stand at one time at most: the kept ones, the one being written, those kept for good.
int64_t kept_checkpoints(const RunConfig& config);

// A warning in words, or nothing. `checkpoint_bytes` of one; 0: not known.
QString storage_warning(const Storage& storage, const RunConfig& config, int64_t checkpoint_bytes);

}  // namespace lathe::ui
