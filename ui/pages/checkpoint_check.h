// What is known of a checkpoint: manifest and sizes are looked at whenever it is shown; every byte when a
// person asks, and not again while its files stay as they are.
#pragma once

#include <QString>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace lathe::ui {

struct CheckpointVerdict {
  bool good = false;
  bool every_byte = false;  // else manifest and sizes
  QString text{};
};

// Any thread. Copies share what they know.
class CheckpointChecks {
 public:
  CheckpointVerdict look(const std::filesystem::path& folder) const;
  CheckpointVerdict verify(const std::filesystem::path& folder);

 private:
  struct Known {
    std::string files;  // names, sizes and times when every byte was read
    CheckpointVerdict verdict;
  };
  struct Shared {
    std::mutex mutex;
    std::map<std::filesystem::path, Known> known;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace lathe::ui
