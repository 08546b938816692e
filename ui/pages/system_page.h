// System: the report on this machine, copyable, and the preferences.
#pragma once

#include <vector>

#include "ui/latest_job.h"
#include "ui/pages/page.h"
#include "ui/pages/system_report.h"

class QComboBox;
class QLabel;
class QProcess;
class QPushButton;
class QTextBrowser;

namespace lathe::ui {

class ElidedLabel;

class SystemPage : public Page {
  Q_OBJECT
 public:
  explicit SystemPage(AppContext& context, QWidget* parent = nullptr);
  ~SystemPage() override;
  void activated() override;

  QString report() const;                      // as it is copied
  void choose_history(const QString& folder);  // from the next start on
  bool checking() const { return doctor_ != nullptr; }

 private:
  QWidget* make_report();
  QWidget* make_preferences();
  void refresh();
  void check(bool measure);
  void show_checks(ReportSection checks);
  void show_report();

  ReportSection checks_;                 // of `lathe doctor`
  std::vector<ReportSection> sections_;  // folders and software
  QProcess* doctor_ = nullptr;           // while it looks
  QPushButton* again_ = nullptr;
  QTextBrowser* view_ = nullptr;
  QLabel* restart_ = nullptr;
  double scale_at_start_ = 1;
  ElidedLabel* history_ = nullptr;
  LatestJob job_, choosing_;
};

}  // namespace lathe::ui
