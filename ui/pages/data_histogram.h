// Documents by length, as bars over powers of two.
#pragma once

#include <QWidget>

#include "ui/pages/data_facts.h"

namespace lathe::ui {

class Theme;

class LengthBars : public QWidget {
  Q_OBJECT
 public:
  explicit LengthBars(const Theme& theme, QWidget* parent = nullptr);
  void show_lengths(const LengthHistogram& lengths);
  QSize sizeHint() const override { return {360, 140}; }
  QSize minimumSizeHint() const override { return {240, 110}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF plot_area() const;
  int bin_at(double x) const;  // -1: none

  const Theme& theme_;
  LengthHistogram lengths_;
  int first_ = 0;  // first bin that holds something
};

}  // namespace lathe::ui
