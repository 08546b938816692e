// Keeps the verdict up to date: assesses the document against the chosen device on a worker, drops stale
// answers, then estimates the table of changes and looks up what past runs on this device measured.
#pragma once

#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/history/past_predictions.h"
#include "ui/forms/assessment.h"
#include "ui/forms/changes.h"
#include "ui/latest_job.h"

namespace lathe {
class Error;
}

namespace lathe::ui {

struct AppContext;
class ConfigDocument;

// How past predictions on a device turned out.
struct PredictionRecord {
  PastPredictions past;
  std::optional<double>
      measured_speed;    // tokens/s, nominal, step only: newest run of the same model and batch
  QString measured_run;  // its name
};

class NewAssessor : public QObject {
  Q_OBJECT
 public:
  NewAssessor(AppContext& context, ConfigDocument& document, QObject* parent = nullptr);

  void set_device(const DeviceChoice& device);
  const std::optional<DeviceChoice>& device() const { return device_; }
  // The newest answer, also while a newer one is on its way (pending()).
  const std::shared_ptr<const Assessment>& assessment() const { return assessment_; }
  bool pending() const { return verdict_.busy(); }
  const std::vector<ProposedChange>& changes() const { return changes_; }
  bool changes_pending() const { return changes_job_.busy() || changes_delay_.isActive(); }
  const PredictionRecord& record() const { return record_; }

 Q_SIGNALS:
  void started();                           // figures are stale from now on
  void assessed();                          // assessment() is new
  void refused(const lathe::Error& error);  // valid settings that no plan exists for
  void changes_ready();
  void record_ready();

 private:
  void restart();
  void look_for_changes();
  void look_up_record();

  AppContext& context_;
  ConfigDocument& document_;
  std::optional<DeviceChoice> device_;
  std::shared_ptr<const Assessment> assessment_;
  std::vector<ProposedChange> changes_;
  PredictionRecord record_;
  QTimer changes_delay_;
  LatestJob verdict_, changes_job_, record_job_;
};

}  // namespace lathe::ui
