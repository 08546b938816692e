// What differs between two configurations, as a table; a row leads to its setting.
#pragma once

#include <QDialog>
#include <QString>
#include <vector>

#include "core/config/config_text.h"

class QTableWidget;

namespace lathe::ui {

class DiffDialog : public QDialog {
  Q_OBJECT
 public:
  DiffDialog(const QString& a_name, const QString& b_name, const std::vector<SettingDifference>& differences,
             QWidget* parent = nullptr);
  QTableWidget* table() const { return table_; }

 Q_SIGNALS:
  void chosen(const QString& key);

 private:
  QTableWidget* table_;
};

}  // namespace lathe::ui
