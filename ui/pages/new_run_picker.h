// A small dialog to pick a past run by name.
#pragma once

#include <QDialog>
#include <QString>
#include <vector>

#include "core/history/run_types.h"

class QLineEdit;
class QListWidget;

namespace lathe::ui {

class RunPicker : public QDialog {
  Q_OBJECT
 public:
  RunPicker(const QString& title, const std::vector<RunSummary>& runs, QWidget* parent = nullptr);

 Q_SIGNALS:
  void picked(const QString& id);

 private:
  void filter(const QString& text);
  QLineEdit* filter_;
  QListWidget* list_;
};

}  // namespace lathe::ui
