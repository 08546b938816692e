// The memory of a device as one bar: other programs, context and libraries, the run by role, what is left,
// the margin. Past the card's edge it turns red.
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>
#include <cstdint>
#include <vector>

namespace lathe::ui {

class Theme;
struct Assessment;

struct MemorySegment {
  QString name;
  QString explanation;
  int64_t bytes = 0;
  QColor color;
};

// The segments in the order they are drawn, empty ones left out; their sum is others + the process.
std::vector<MemorySegment> memory_segments(const Assessment& assessment, const Theme& theme);

class MemoryBar : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryBar(const Theme& theme, QWidget* parent = nullptr);
  void show_assessment(const Assessment& assessment);
  void set_stale(bool stale);  // greyed while a newer answer is on its way
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;             // tool tips by segment
  void keyPressEvent(QKeyEvent* event) override;  // arrow keys go from segment to segment
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  double x_of(int64_t bytes) const;
  QString tip_of(int segment) const;  // beyond the last: what is free
  QString summary() const;
  void select(int segment);

  const Theme& theme_;
  std::vector<MemorySegment> segments_;
  int64_t total_ = 0;   // of the device
  int64_t margin_ = 0;  // kept free at its end
  int64_t used_ = 0;
  int selected_ = 0;  // by the keyboard
  bool over_ = false;
  bool stale_ = false;
};

// The same numbers as a list with colours, in two columns where they fit.
class MemoryLegend : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryLegend(const Theme& theme, QWidget* parent = nullptr);
  void show_assessment(const Assessment& assessment);
  void set_stale(bool stale);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int line_height() const;
  int columns() const;  // as many as its names have room for, two at most
  const Theme& theme_;
  std::vector<MemorySegment> segments_;
  bool stale_ = false;
};

}  // namespace lathe::ui
