#include "app/cli/data_progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/platform/process.h"
#include "core/platform/terminal.h"

namespace lathe::cli {

DataProgress::DataProgress(bool visible)
    : visible_(visible),
      terminal_(is_terminal(stderr)),
      began_(monotonic_seconds()),
      last_line_(terminal_ ? 0 : began_) {
  interrupt_.emplace();
}

static std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

// Share done and the time left at the average speed so far.
std::string DataProgress::rate(int64_t done, int64_t total, double seconds) const {
  if (total <= 0 || done <= 0) return {};
  const double share = static_cast<double>(done) / static_cast<double>(total);
  return fmt::format("{:3.0f}%, {} left", share * 100, duration_text(seconds * (1 - share) / share));
}

bool DataProgress::show(const BuildProgress& progress) {
  // The training of a tokenizer can't be interrupted from within and has written nothing yet: there, Ctrl-C
  // may simply end the process.
  if (progress.phase == BuildPhase::TrainingTokenizer) {
    interrupt_.reset();
  } else if (!interrupt_) {
    interrupt_.emplace();
  }
  const double text_mb = static_cast<double>(progress.text_bytes) / 1e6;
  const double speed = progress.seconds > 0 ? text_mb / progress.seconds : 0;
  const std::string left = rate(progress.input_bytes_done, progress.input_bytes_total, progress.seconds);
  switch (progress.phase) {
    case BuildPhase::Sampling:
      line(fmt::format("reading a sample  {:.0f} MB/s  {}", speed, left));
      break;
    case BuildPhase::TrainingTokenizer:
      line("training the tokenizer …");
      break;
    case BuildPhase::Encoding:
      line(fmt::format("encoding  {:.1f}M tokens  {:.1f} MB/s  {}",
                       static_cast<double>(progress.tokens) / 1e6, speed, left));
      break;
    case BuildPhase::Finishing:
      line("writing");
      break;
  }
  return !interrupt_ || !interrupt_->interrupted();
}

bool DataProgress::show(const char* what, int64_t done, int64_t total) {
  const double seconds = monotonic_seconds() - began_;
  line(fmt::format("{}  {:.0f} MB/s  {}", what, static_cast<double>(done) / 1e6 / std::max(seconds, 1e-3),
                   rate(done, total, seconds)));
  return !interrupt_->interrupted();
}

void DataProgress::line(const std::string& text) {
  const double now = monotonic_seconds();
  if (!visible_ || now - last_line_ < (terminal_ ? 0.1 : 10.0)) return;
  last_line_ = now;
  if (terminal_) {
    fmt::print(stderr, "\r{:<{}}", text, width_);
    width_ = text.size();
    std::fflush(stderr);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void DataProgress::clear() {
  if (visible_ && terminal_ && width_ > 0) fmt::print(stderr, "\r{:<{}}\r", "", width_);
}

}  // namespace lathe::cli
