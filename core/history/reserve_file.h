// 8 MiB beside an active run's history that a full disk can't take away: deleted when needed, so that the
// last words fit.
#pragma once

#include <filesystem>

namespace lathe {

class ReserveFile {
 public:
  static constexpr int64_t bytes = int64_t{8} << 20;

  explicit ReserveFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Takes the space unless it is taken already. Throws DiskFull or Io.
  void take();
  // Gives the space back to the disk. True when there was some. Never throws.
  bool release();
  bool is_taken() const;
  // Takes the space again once the disk has plenty (four times as much). True when it is taken afterwards.
  // Never throws.
  bool take_when_there_is_room();

 private:
  std::filesystem::path path_;
};

}  // namespace lathe
