// Quantities that follow from settings: the resolved meaning of "0 = ..." and the products people ask for.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/run_config.h"

namespace lathe {

// Key and value heads; model.kv_heads 0 means as many as heads.
std::int64_t kv_heads(const RunConfig::Model& model);

// Width of one attention head; model.head_dim 0 means hidden / heads.
std::int64_t head_dim(const RunConfig::Model& model);

// Rows of the embedding and the head: vocab rounded up to a multiple of vocab_pad.
std::int64_t padded_vocab(const RunConfig::Model& model);

// Positions of one micro-step: micro_batch * context.
std::int64_t tokens_per_micro_step(const RunConfig& config);

// Positions of one update: micro_batch * accumulation * context (nominal, masked positions included).
std::int64_t tokens_per_update(const RunConfig& config);

// Recompute level of a layer. The setting must be resolved: throws Internal while it is automatic.
RecomputeLevel recompute_level(const RunConfig& config, std::int64_t layer);

// Whether weights have a master beside them in memory: bf16 weights with master fp32 or split.
bool has_separate_master(const RunConfig& config);

// Updates after which run.updates or run.tokens ends the run, whichever is first; nullopt when neither is
// set (then only time or a person ends it).
std::optional<std::int64_t> last_update(const RunConfig& config);

// Length of the schedule in schedule.unit: schedule.length, or the run's own length when that is 0;
// nullopt when neither is known.
std::optional<std::int64_t> schedule_length(const RunConfig& config);

// Length of wsd's final decay in schedule.unit: schedule.decay, or a tenth of `length` (at least 1) for 0.
std::int64_t decay_length(const RunConfig& config, std::int64_t length);

}  // namespace lathe
