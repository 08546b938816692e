#include "core/train/run_clock.h"

#include <algorithm>

namespace lathe {
namespace {

double ms_between(RunClock::Moment a, RunClock::Moment b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

}  // namespace

void RunClock::begin(int64_t active_ms_before, Moment now) {
  set_back(active_ms_before, now);
  last_end_ = warm_since_ = now;
  updates_ = 0;
}

void RunClock::set_back(int64_t active_ms_before, Moment now) {
  active_before_ms_ = active_ms_before;
  active_since_ = now;
}

void RunClock::pause(Moment now) {
  active_before_ms_ = active_ms(now);
  active_since_ = now;
  paused_at_ = now;
}

void RunClock::go_on(Moment now) {
  const auto paused = now - *paused_at_;
  paused_at_.reset();
  active_since_ = now;
  for (Moment* moment : {&update_begin_, &last_end_, &warm_since_}) *moment += paused;
}

WindowTimes RunClock::end_update(Moment begin, Moment backward_end, Moment end) {
  constexpr double least_ms = 1e-3;  // rates are divided by these
  // The device can have started behind the previous update's end only.
  const Moment start = std::max(begin, last_end_);
  const WindowTimes times{
      std::max(ms_between(start, end), least_ms), std::max(ms_between(last_end_, end), least_ms),
      std::max(ms_between(start, backward_end), 0.0), ms_between(std::max(start, backward_end), end)};
  last_end_ = end;
  if (++updates_ <= kWarmUpdates) warm_since_ = end;
  return times;
}

int64_t RunClock::active_ms(Moment now) const {
  return active_before_ms_ + (paused_at_ ? 0 : static_cast<int64_t>(ms_between(active_since_, now)));
}

std::optional<double> RunClock::ms_per_update() const {
  if (updates_ <= kWarmUpdates) return std::nullopt;
  return ms_between(warm_since_, last_end_) / static_cast<double>(updates_ - kWarmUpdates);
}

std::optional<double> SpeedWatch::slower(double step_ms) {
  if (count_ < kKnown) {
    known_[count_++] = step_ms;
    if (count_ == kKnown) std::ranges::sort(known_);
    return std::nullopt;
  }
  const double usual = known_[kKnown / 2];
  slow_in_a_row_ = step_ms > 2 * usual ? slow_in_a_row_ + 1 : 0;
  if (slow_in_a_row_ != 3) return std::nullopt;
  return step_ms / usual;
}

}  // namespace lathe
