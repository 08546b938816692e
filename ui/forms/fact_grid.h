// Facts in columns: a quiet name above a figure. As many columns as fit.
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

namespace lathe::ui {

class Theme;

struct Fact {
  QString name;
  QString value;
  QString tip{};
};

class FactGrid : public QWidget {
  Q_OBJECT
 public:
  explicit FactGrid(const Theme& theme, QWidget* parent = nullptr);
  void set_facts(std::vector<Fact> facts);
  void set_stale(bool stale);
  const std::vector<Fact>& facts() const { return facts_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int height_for(int width) const;
  // Widths of the columns when so many facts stand in a line.
  std::vector<int> column_widths(int across) const;
  int fact_width(const Fact& fact) const;
  int cell_height() const;
  // Where each fact stands: in as few lines as fit, filled evenly.
  std::vector<QRect> cells(int width) const;
  QFont value_font() const;

  const Theme& theme_;
  std::vector<Fact> facts_;
  bool stale_ = false;
};

}  // namespace lathe::ui
