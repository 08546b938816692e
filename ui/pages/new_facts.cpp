#include "ui/pages/new_facts.h"

#include <QCoreApplication>

#include "core/config/derived.h"
#include "core/model/parameters.h"
#include "ui/forms/assessment.h"
#include "ui/pages/new_storage.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("NewPage", text);
}

}  // namespace

std::vector<Fact> derived_facts(const RunConfig& config, const Assessment* assessment, qint64 free_disk_bytes,
                                double tokens_per_s) {
  std::vector<Fact> facts;
  const int64_t parameters = parameter_count(config), padding = padding_count(config);
  facts.push_back({tr("Parameters"), count_text(parameters),
                   padding > 0
                       ? tr("Exactly what is allocated; %1 of them are vocabulary padding and stay zero.")
                             .arg(count_text(padding))
                       : tr("Exactly what is allocated.")});
  facts.push_back({tr("Tokens an update"), count_text(tokens_per_update(config)),
                   tr("micro-batch × accumulation × context, masked positions included")});
  facts.push_back({tr("Head size"), count_text(head_dim(config.model)), tr("Width of one attention head")});
  const std::optional<int64_t> updates = last_update(config);
  facts.push_back({tr("Updates"), updates ? count_text(*updates) : tr("no end set"),
                   tr("Until the first of the run's limits in updates or tokens")});
  const int64_t tokens = updates ? *updates * tokens_per_update(config) : 0;
  facts.push_back(
      {tr("Tokens in all"), updates ? short_count_text(static_cast<double>(tokens)) : no_value(),
       updates ? tr("%1 tokens").arg(count_text(tokens)) : tr("No limit in updates or tokens is set")});
  facts.push_back(
      {tr("Per parameter"),
       updates ? number_text(static_cast<double>(tokens) / static_cast<double>(parameters), 1) : no_value(),
       tr("Tokens in all over parameters; 20 is a usual measure")});
  facts.push_back(
      {tr("Duration"),
       updates && tokens_per_s > 0 ? duration_text(static_cast<double>(tokens) / tokens_per_s) : no_value(),
       tokens_per_s > 0
           ? tr("At %1 tokens/s; evaluation and saving come on top.").arg(number_text(tokens_per_s, 0))
           : tr("Nothing predicts the speed on this device yet, and no run has measured it.")});
  if (assessment && assessment->config == config) {
    const int64_t one = assessment->estimate.checkpoint_bytes;
    const int64_t all = one * kept_checkpoints(config);
    QString tip = tr("Weights, masters and optimizer states. Up to %1 stand at one time: %2.")
                      .arg(kept_checkpoints(config))
                      .arg(bytes_text(all));
    if (free_disk_bytes >= 0) {
      tip += QLatin1Char(' ') + tr("%1 are free on the disk of the runs.").arg(bytes_text(free_disk_bytes));
      if (all > free_disk_bytes) tip += QLatin1Char(' ') + tr("The run will pause when the disk is full.");
    }
    const bool short_of_disk = free_disk_bytes >= 0 && all > free_disk_bytes;
    facts.push_back(
        {short_of_disk ? tr("Checkpoint: disk too small") : tr("Checkpoint"), bytes_text(one), tip});
  } else {
    facts.push_back({tr("Checkpoint"), no_value(), {}});
  }
  return facts;
}

}  // namespace lathe::ui
