#include "ui/pages/new_assessor.h"

#include <algorithm>
#include <utility>

#include "core/config/config_text.h"
#include "core/history/history_store.h"
#include "ui/app_context.h"
#include "ui/forms/config_document.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr int kQuietMs = 250;  // no keystroke for so long: the table of changes is worth its second

// Settings that decide the speed of a step on a given device.
bool same_step(const RunConfig& config, const SettingRows& rows) {
  return std::ranges::all_of(rows, [&](const auto& row) {
    const bool decides = row.first.starts_with("model.") || row.first.starts_with("batch.micro") ||
                         row.first.starts_with("precision.") || row.first == "memory.recompute" ||
                         row.first == "memory.loss_chunk_tokens" || row.first == "optimizer.state";
    const SettingInfo* info = find_setting(row.first);
    return !decides || !info || info->get_text(config, info->unit) == row.second;
  });
}

PredictionRecord look_up(const HistoryStore& history, const Assessment& assessment,
                         const std::string& device) {
  PredictionRecord record;
  const std::vector<RunSummary> runs = history.list({.archived = true});
  record.past = past_predictions(runs, device);
  for (const RunSummary& run : runs) {
    if (run.device.find(device) == std::string::npos) continue;
    // Newest first: the first match is the newest.
    if (!record.measured_speed && run.tokens_per_s &&
        same_step(assessment.resolved, history.details(run.id).settings)) {
      record.measured_speed = run.tokens_per_s;
      record.measured_run = to_qt(run.name);
    }
  }
  return record;
}

}  // namespace

NewAssessor::NewAssessor(AppContext& context, ConfigDocument& document, QObject* parent)
    : QObject(parent), context_(context), document_(document) {
  changes_delay_.setSingleShot(true);
  changes_delay_.setInterval(kQuietMs);
  connect(&changes_delay_, &QTimer::timeout, this, &NewAssessor::look_for_changes);
  connect(&document_, &ConfigDocument::changed, this, &NewAssessor::restart);
}

void NewAssessor::set_device(const DeviceChoice& device) {
  device_ = device;
  restart();
}

void NewAssessor::restart() {
  changes_delay_.stop();
  changes_job_.cancel();
  if (!device_) return;
  if (!document_.can_estimate()) {
    verdict_.cancel();
    Q_EMIT started();
    return;
  }
  verdict_.run([config = document_.config(), device = *device_] { return assess(config, device); },
               [this](Assessment assessment) {
                 assessment_ = std::make_shared<const Assessment>(std::move(assessment));
                 changes_delay_.start();
                 Q_EMIT assessed();
                 look_up_record();
               },
               [this](const Error& error) { Q_EMIT refused(error); });
  Q_EMIT started();
}

void NewAssessor::look_for_changes() {
  changes_job_.run(
      [assessment = assessment_, this, id = changes_job_.newest() + 1] {
        return propose_changes(*assessment, [this, id] { return changes_job_.stale(id); });
      },
      [this](std::vector<ProposedChange> changes) {
        changes_ = std::move(changes);
        Q_EMIT changes_ready();
      });
}

void NewAssessor::look_up_record() {
  if (!device_->here) {
    record_job_.cancel();
    record_ = {};
    Q_EMIT record_ready();
    return;
  }
  // The history knows the device by its bare name, the choice adds its size.
  const std::string name = device_->name.substr(0, device_->name.rfind(','));
  record_job_.run([assessment = assessment_, name,
                   open = context_.open_history] { return look_up(*open(), *assessment, name); },
                  [this](PredictionRecord record) {
                    record_ = std::move(record);
                    Q_EMIT record_ready();
                  },
                  [this](const Error&) {
                    // A history that can't be opened is reported where it is needed; here nothing is known.
                    record_ = {};
                    Q_EMIT record_ready();
                  });
}

}  // namespace lathe::ui
