// The foot of New: where to run, Launch, and why it can't be pressed yet with the way out.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/latest_job.h"

class QComboBox;
class QLabel;
class QPushButton;

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
  QString reason() const;

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
  QComboBox* where_;
  QLabel* reason_;
  QPushButton *way_out_, *launch_;
  QString blocking_key_;       // of the problem that way_out_ leads to
  bool offer_sample_ = false;  // way_out_ builds the sample text instead
  LatestJob job_;
};

}  // namespace lathe::ui
