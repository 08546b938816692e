// System: the report on this machine, copyable, and the preferences.
#pragma once

#include <vector>

#include "ui/latest_job.h"
#include "ui/pages/page.h"
#include "ui/pages/system_report.h"

class QComboBox;
class QLabel;
class QTextBrowser;

namespace lathe::ui {

class SystemPage : public Page {
  Q_OBJECT
 public:
  explicit SystemPage(AppContext& context, QWidget* parent = nullptr);
  void activated() override;

  QString report() const;  // as it is copied

 private:
  QWidget* make_report();
  QWidget* make_preferences();
  void refresh();
  void show_report();

  std::vector<ReportSection> sections_;
  QTextBrowser* view_ = nullptr;
  QLabel* restart_ = nullptr;
  double scale_at_start_ = 1;
  LatestJob job_;
};

}  // namespace lathe::ui
