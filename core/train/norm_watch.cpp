#include "core/train/norm_watch.h"

#include <algorithm>
#include <cmath>

namespace lathe {

namespace {
constexpr int64_t kNormsToJudge = 20;  // before them a z-score means nothing
constexpr double kNormMemory = 0.02;   // weight of the newest norm in mean and variance
}  // namespace

std::optional<double> judge_norm(const RunConfig::Guard& guard, TrainingProgress& progress, double norm) {
  const double log_norm = std::log(std::max(norm, 1e-30));
  const double deviation = std::sqrt(progress.norm_variance);
  const bool judge = guard.norm_zscore > 0 && progress.norm_count >= kNormsToJudge;
  if (judge && log_norm > progress.norm_mean + guard.norm_zscore * deviation) {
    return (log_norm - progress.norm_mean) / std::max(deviation, 1e-9);
  }
  // Running mean and variance, exponentially forgetting (West 1979).
  const double weight = std::max(kNormMemory, 1.0 / static_cast<double>(progress.norm_count + 1));
  const double difference = log_norm - progress.norm_mean;
  progress.norm_mean += weight * difference;
  progress.norm_variance = (1 - weight) * (progress.norm_variance + weight * difference * difference);
  ++progress.norm_count;
  return std::nullopt;
}

double accepted_norm(const RunConfig::Guard& guard, const TrainingProgress& progress) {
  const bool warns_only = guard.norm_action == NormAction::Warn;
  if (guard.norm_zscore <= 0 || warns_only || progress.norm_count < kNormsToJudge) return 0;
  return std::exp(progress.norm_mean + guard.norm_zscore * std::sqrt(progress.norm_variance));
}

}  // namespace lathe
