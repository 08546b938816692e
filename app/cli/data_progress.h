// The progress line of the data commands, and their answer to Ctrl-C.
#pragma once

#include <optional>
#include <string>

#include "core/data/dataset_builder.h"
#include "core/platform/interrupt.h"

namespace lathe::cli {

// One line on standard error, rewritten in place on a terminal and printed every ten seconds otherwise.
class DataProgress {
 public:
  explicit DataProgress(bool visible);

  // Both return false when the user pressed Ctrl-C.
  bool show(const BuildProgress& progress);
  bool show(const char* what, int64_t done, int64_t total);
  void clear();

 private:
  void line(const std::string& text);
  std::string rate(int64_t done, int64_t total, double seconds) const;

  bool visible_;
  bool terminal_;
  double began_;
  double last_line_;  // so that short work prints nothing into logs
  size_t width_ = 0;
  std::optional<InterruptWatcher> interrupt_;
};

}  // namespace lathe::cli
