// The look of the window: Fusion with a light and a dark palette of our own, an 8-pixel grid, three font
// sizes, icons that follow the palette. One object, handed down in AppContext.
#pragma once

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QObject>
#include <QString>
#include <array>
#include <cstdint>

#include "kernels/api/tensor.h"

namespace lathe::ui {

struct Colors {
  QColor window;   // behind everything
  QColor surface;  // cards, lists, editors
  QColor raised;   // hovered rows, headers
  QColor border;   // hairlines
  QColor text;
  QColor muted;        // labels, units, hints: still 4.5:1 against surface
  QColor accent;       // selection, links, focus, the primary button
  QColor accent_text;  // on accent
  QColor good;
  QColor warning;
  QColor bad;
  std::array<QColor, 10> series;         // runs and curves: Okabe-Ito's colour-blind-safe hues first
  std::array<QColor, kRoleCount> role;   // memory by role
  QColor overhead, others, free_memory;  // context and libraries; other programs; nothing
};

class Theme : public QObject {
  Q_OBJECT
 public:
  static constexpr int grid = 8;  // every margin and gap is a multiple of it, or half of it

  explicit Theme(QObject* parent = nullptr);

  bool dark() const { return dark_; }
  void set_dark(bool dark);  // sets the application's palette, then emits changed()
  const Colors& colors() const { return colors_; }

  // Icon by name (ui/theme/icons.cpp), painted in the palette's colours at any size; follows theme changes
  // by itself. An unknown name gives a plain square, which a test looks for.
  QIcon icon(const QString& name) const;

  static QFont title_font();             // page titles
  static QFont heading_font();           // card titles
  static QFont number_font(int points);  // big figures, digits of one width
  static QFont mono_font();

 Q_SIGNALS:
  void changed();  // colours changed: repaint what paints itself

 private:
  void apply();

  bool dark_ = false;
  Colors colors_;
};

const Colors& light_colors();
const Colors& dark_colors();

}  // namespace lathe::ui
