#include "core/train/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/config/derived.h"

namespace lathe {

double learning_rate(const RunConfig& config, int64_t updates, int64_t tokens) {
  const RunConfig::Schedule& schedule = config.schedule;
  const bool by_tokens = schedule.unit == ScheduleUnit::Tokens;
  const double position = static_cast<double>(by_tokens ? tokens + tokens_per_update(config) : updates + 1);
  const double warmup = static_cast<double>(schedule.warmup);
  if (position < warmup) return schedule.lr * position / warmup;

  const auto length = schedule_length(config);
  if (schedule.kind == Schedule::Constant || !length) return schedule.lr;
  const double end = static_cast<double>(*length);
  const double start =
      schedule.kind == Schedule::Wsd ? end - static_cast<double>(decay_length(config, *length)) : warmup;
  const double progress = std::clamp((position - start) / std::max(end - start, 1.0), 0.0, 1.0);
  const double rest =
      schedule.kind == Schedule::Cosine ? (1 + std::cos(std::numbers::pi * progress)) / 2 : 1 - progress;
  return schedule.lr * (schedule.final_fraction + (1 - schedule.final_fraction) * rest);
}

}  // namespace lathe
