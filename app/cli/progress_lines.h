// What a training command prints: one live line an update, evaluations, samples, and where everything lies.
#pragma once

#include <cstdint>
#include <string>

#include "core/train/training_run.h"

namespace lathe::cli {

class ProgressLines {
 public:
  ProgressLines(bool json, const TrainingRun& run);

  TrainingObserver observer();  // holds a pointer to this object
  void start();                 // model, memory, data
  void finish(const TrainingResult& result);
  void say(const std::string& text);

 private:
  void update(const UpdateRow& row, std::optional<int64_t> eta_ms);
  void end_live_line();

  bool json_;
  bool terminal_;  // standard output is one: the live line overwrites itself
  bool live_ = false;
  const TrainingRun& run_;
};

// "1h 23m", "45 s".
std::string duration_text(int64_t ms);

}  // namespace lathe::cli
