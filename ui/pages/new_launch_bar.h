// The foot of New: where to run, Launch, and why it can't be pressed yet with the way out.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/latest_job.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace lathe {
struct RunConfig;
}

namespace lathe::ui {

struct AppContext;
class ConfigDocument;
class NewAssessor;

class LaunchBar : public QWidget {
  Q_OBJECT
 public:
  LaunchBar(AppContext& context, ConfigDocument& document, NewAssessor& assessor, QWidget* parent = nullptr);

  QPushButton* launch_button() const { return launch_; }
  QPushButton* help_button() const { return way_out_; }
  QLineEdit* name_edit() const { return name_; }
  QString reason() const;
  // What a person should know before launching all the same; shown while nothing is in the way.
  void set_warning(const QString& warning);
  QString warning() const { return warning_; }
  // The document's settings with the run's name, the one of its own or the default.
  RunConfig config_to_launch() const;

 Q_SIGNALS:
  void setting_asked(const QString& key);
  void sample_dataset_asked();  // nothing to train on: build the sample text's dataset

 private:
  void refresh();
  void launch();
  void launch_here();
  void launch_detached_run();

  AppContext& context_;
  ConfigDocument& document_;
  NewAssessor& assessor_;
  QLineEdit* name_;
  QComboBox* where_;
  QLabel* reason_;
  QPushButton *way_out_, *launch_;
  QString warning_;
  QString blocking_key_;       // of the problem that way_out_ leads to
  bool offer_sample_ = false;  // way_out_ builds the sample text instead
  LatestJob job_;
};

// What a run is called that nobody named: its base and what was changed first, "tiny, lr 1e-3".
QString default_run_name(const ConfigDocument& document);

}  // namespace lathe::ui
