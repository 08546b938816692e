// The right side of New, always in sight: the verdict in words, memory by role, the step, speed, changes.
#pragma once

#include <QWidget>
#include <string>
#include <vector>

#include "core/config/validate.h"

class QBoxLayout;
class QLabel;
class QScrollArea;
class QTableView;

namespace lathe {
class Error;
}

namespace lathe::ui {

class ChangesCard;
class ConfigDocument;
class LivePlot;
class MemoryBar;
class MemoryLegend;
class NewAssessor;
class Theme;

class VerdictPanel : public QWidget {
  Q_OBJECT
 public:
  VerdictPanel(NewAssessor& assessor, ConfigDocument& document, const Theme& theme,
               QWidget* parent = nullptr);

  QString verdict_text() const;
  ChangesCard& changes() const { return *changes_; }
  MemoryBar& bar() const { return *bar_; }
  LivePlot& plot() const { return *plot_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 Q_SIGNALS:
  void setting_asked(const QString& key);  // a problem was clicked

 private:
  void show_started();
  void show_assessment();
  void show_problems(const std::vector<Problem>& problems);
  void show_refusal(const Error& error);
  void show_speed();
  void set_stale(bool stale);

  NewAssessor& assessor_;
  ConfigDocument& document_;
  const Theme& theme_;
  QLabel *verdict_, *where_, *speed_, *record_, *peak_;
  MemoryBar* bar_;
  MemoryLegend* legend_;
  LivePlot* plot_;
  ChangesCard* changes_;
  QScrollArea* scroll_;
  QBoxLayout* columns_;
};

struct Assessment;
struct PredictionRecord;

// "Fits: 13.2 GiB of 15.4 GiB, 2.2 GiB to spare."
QString verdict_sentence(const Assessment& assessment);
// The newest runs with what was predicted and what was measured, as a table; empty without runs.
QString record_table(const PredictionRecord& record);

}  // namespace lathe::ui
