#include "ui/forms/chosen_text.h"

#include "core/config/config_text.h"
#include "core/config/derived.h"
#include "ui/forms/assessment.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString optional_count(const std::optional<int64_t>& count) {
  return count ? count_text(*count) : QString();
}

// 0 is the whole micro-batch at once.
QString chunk_text(const RunConfig& config) {
  const int64_t tokens = config.memory.loss_chunk_tokens.value;
  return count_text(tokens > 0 ? tokens : tokens_per_micro_step(config));
}

}  // namespace

QString chosen_text(std::string_view key, const RunConfig& config, const Assessment* assessment) {
  const RunConfig::Model& model = config.model;
  if (key == "model.kv_heads" && model.kv_heads == 0) return count_text(kv_heads(model));
  if (key == "model.head_dim" && model.head_dim == 0) return count_text(head_dim(model));
  if (config.schedule.kind != Schedule::Constant) {
    const std::optional<int64_t> length = schedule_length(config);
    if (key == "schedule.length" && config.schedule.length == 0) return optional_count(length);
    if (key == "schedule.decay" && config.schedule.decay == 0 && config.schedule.kind == Schedule::Wsd &&
        length)
      return count_text(decay_length(config, *length));
  }
  if (key == "memory.loss_chunk_tokens" && config.memory.loss_chunk_tokens == AutoInt{false, 0})
    return chunk_text(config);
  if (assessment == nullptr || get_text(config, key) != "auto") return {};
  if (key == "memory.loss_chunk_tokens") return chunk_text(assessment->resolved);
  if (key == "memory.vram_budget") return bytes_text(assessment->budget);
  if (key == "memory.recompute") {
    return to_qt(get_text(assessment->resolved, key)).replace(QLatin1Char(','), QStringLiteral(", "));
  }
  if (key == "run.device") return assessment->device.gpu() ? QStringLiteral("cuda") : QStringLiteral("cpu");
  return {};
}

}  // namespace lathe::ui
