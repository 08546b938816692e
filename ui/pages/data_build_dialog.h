// What to build a dataset from: files of text or JSON, and the tokenizer. And what to import: token files of
// other trainers. One dialog each; the work itself is DataJob's.
#pragma once

#include <QDialog>
#include <filesystem>

#include "core/data/dataset_builder.h"
#include "core/data/dataset_import.h"

class QCheckBox;
class QComboBox;
class QDialogButtonBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QListWidget;
class QSpinBox;
class QStackedWidget;

namespace lathe::ui {

// The common part: input files, the name of the new dataset, a reason while something is missing.
class DatasetDialog : public QDialog {
  Q_OBJECT
 public:
  std::filesystem::path target() const;
  void add_inputs(const QStringList& paths);
  void set_name(const QString& name);

 protected:
  DatasetDialog(const QString& title, const QString& action, const QString& folder, const QString& filter,
                QWidget* parent);
  std::vector<std::filesystem::path> inputs() const;
  virtual QString missing() const;  // empty: complete
  void refresh();
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  // A line edit for a file with a button that browses for it.
  QWidget* file_row(QLineEdit* line, const QString& title, const QString& filter);

  QFormLayout* form_;
  QDoubleSpinBox* validation_;
  QCheckBox* replace_;

 private:
  QString folder_;
  QListWidget* files_;
  QLineEdit* name_;
  QLabel* reason_;
  QDialogButtonBox* buttons_;
};

class BuildDialog : public DatasetDialog {
  Q_OBJECT
 public:
  explicit BuildDialog(const QString& folder, QWidget* parent = nullptr);
  BuildOptions options() const;
  void set_vocab(int vocab);

 protected:
  QString missing() const override;

 private:
  QComboBox* kind_;
  QSpinBox* vocab_;
  QLineEdit *model_, *field_, *separator_;
  QCheckBox* skip_;
};

class ImportDialog : public DatasetDialog {
  Q_OBJECT
 public:
  explicit ImportDialog(const QString& folder, QWidget* parent = nullptr);
  ImportOptions options() const;

 private:
  QComboBox* format_;
  QLineEdit* model_;
  QSpinBox *vocab_, *eos_;
};

}  // namespace lathe::ui
