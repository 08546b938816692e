// Live bytes over the operations of the step that holds the peak: where memory goes up, where it falls, and
// which operation is the fullest.
#pragma once

#include <QString>
#include <QWidget>
#include <cstdint>
#include <string>
#include <vector>

#include "ui/forms/assessment.h"

namespace lathe::ui {

class Theme;

class LivePlot : public QWidget {
  Q_OBJECT
 public:
  explicit LivePlot(const Theme& theme, QWidget* parent = nullptr);
  void show_assessment(const Assessment& assessment);
  void set_stale(bool stale);
  QSize sizeHint() const override { return {320, 112}; }
  QSize minimumSizeHint() const override { return {160, 96}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;  // arrow keys go from operation to operation
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  QRectF plot_area() const;
  QString tip_of(int op) const;
  QString summary() const;
  void select(int op);

  const Theme& theme_;
  std::vector<LivePoint> live_;
  std::vector<std::string> names_;
  QString peak_op_;
  int64_t persistent_ = 0;  // weights, states …: always there
  int64_t allowed_ = 0;     // budget less overhead
  int64_t top_ = 1;
  int peak_ = 0;
  int hover_ = -1;
  bool over_ = false;
  bool stale_ = false;
};

}  // namespace lathe::ui
