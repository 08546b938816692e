// Import a foreign log: the file is read while one looks, each column says what it stands for, and the run
// appears in the list.
#pragma once

#include <QDialog>
#include <memory>
#include <vector>

#include "core/history/foreign_log.h"
#include "ui/latest_job.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableWidget;
class QTimer;

namespace lathe::ui {

struct AppContext;

class RunsImportDialog : public QDialog {
  Q_OBJECT
 public:
  explicit RunsImportDialog(AppContext& context, QWidget* parent = nullptr);

  void choose_file();
  void set_file(const QString& file);
  void set_format(ForeignFormat format);
  void set_pattern(const QString& pattern);
  void set_target(int column, const QString& target);  // "": not used
  void set_name(const QString& name);
  void start_import();
  ForeignMapping mapping() const;
  int column_count() const;
  QString state() const;
  bool ready() const;  // read, and can be imported

 Q_SIGNALS:
  void imported(const QString& id, bool as_baseline);

 private:
  void build();
  void read();
  void show_table();
  void show_state(const QString& text, bool bad);
  void check_mapping();

  AppContext& context_;
  QString file_;
  std::shared_ptr<const ForeignTable> table_;
  QLabel *file_label_, *state_;
  QComboBox* format_;
  QLineEdit *pattern_, *name_;
  QPlainTextEdit* preview_;
  QTableWidget* columns_;
  QSpinBox* tokens_per_step_;
  QCheckBox* baseline_;
  QProgressBar* progress_;
  QPushButton* import_;
  QTimer* typing_;
  LatestJob job_;
};

}  // namespace lathe::ui
