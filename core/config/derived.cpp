#include "core/config/derived.h"

#include <algorithm>
#include <limits>

#include "kernels/api/error.h"

namespace lathe {

std::int64_t kv_heads(const RunConfig::Model& model) {
  return model.kv_heads == 0 ? model.heads : model.kv_heads;
}

std::int64_t head_dim(const RunConfig::Model& model) {
  if (model.head_dim != 0) return model.head_dim;
  return model.heads > 0 ? model.hidden / model.heads : 0;
}

std::int64_t padded_vocab(const RunConfig::Model& model) {
  if (model.vocab_pad <= 1) return model.vocab;
  const std::int64_t remainder = model.vocab % model.vocab_pad;
  return remainder == 0 ? model.vocab : model.vocab + (model.vocab_pad - remainder);
}

std::int64_t tokens_per_micro_step(const RunConfig& config) {
  return config.batch.micro_batch * config.model.context;
}

std::int64_t tokens_per_update(const RunConfig& config) {
  return tokens_per_micro_step(config) * config.batch.accumulation;
}

RecomputeLevel recompute_level(const RunConfig& config, std::int64_t layer) {
  const RecomputeSetting& recompute = config.memory.recompute;
  if (recompute.automatic || recompute.levels.empty()) {
    throw Error(ErrorCode::Internal, "memory.recompute was read before auto was resolved.");
  }
  if (recompute.levels.size() == 1) return recompute.levels.front();
  if (layer < 0 || layer >= static_cast<std::int64_t>(recompute.levels.size())) {
    throw Error(ErrorCode::Internal,
                "memory.recompute has no level for layer " + std::to_string(layer) + ".");
  }
  return recompute.levels[static_cast<std::size_t>(layer)];
}

bool has_separate_master(const RunConfig& config) {
  return config.precision.weights == Storage::Bf16 && config.precision.master != Master::None;
}

std::optional<std::int64_t> last_update(const RunConfig& config) {
  std::optional<std::int64_t> last;
  if (config.run.updates > 0) last = config.run.updates;
  const std::int64_t per_update = tokens_per_update(config);
  if (config.run.tokens > 0 && per_update > 0) {
    const std::int64_t by_tokens = (config.run.tokens - 1) / per_update + 1;
    last = last ? std::min(*last, by_tokens) : by_tokens;
  }
  return last;
}

std::optional<std::int64_t> schedule_length(const RunConfig& config) {
  if (config.schedule.length > 0) return config.schedule.length;
  const auto updates = last_update(config);
  if (!updates) return std::nullopt;
  if (config.schedule.unit == ScheduleUnit::Updates) return updates;
  const std::int64_t per_update = tokens_per_update(config);
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  return *updates > limit / per_update ? limit : *updates * per_update;  // endless rather than overflowing
}

std::int64_t decay_length(const RunConfig& config, std::int64_t length) {
  if (config.schedule.decay > 0) return config.schedule.decay;
  return std::max<std::int64_t>(1, length / 10);
}

}  // namespace lathe
