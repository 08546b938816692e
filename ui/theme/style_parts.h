// What LatheStyle draws, part by part. Colours come from the option's palette only, so that another palette
// is all that another appearance takes.
#pragma once

#include <QPainter>
#include <QStyleOption>

namespace lathe::ui {

// In pixels. Sizes are of everything around a text or icon: line and padding.
struct StyleMetrics {
  double card_radius = 6, button_radius = 5, field_radius = 4;
  QMargins button{15, 6, 15, 6}, tool{6, 6, 6, 6}, field{7, 4, 7, 4};
  QMargins tint{8, 4, 8, 4}, header{8, 5, 8, 6}, tab{14, 6, 14, 8}, menu_item{12, 5, 24, 5};
  int button_text_height = 18;
  int field_height = 26;  // of combo and spin boxes
  int combo_indent = 4;   // more than Fusion's before a combo box's text
  int area_frame = 2;     // line and the room its round corners need
  int chevron_room = 20;  // at the right end of combo boxes, of sorted headers
  int scroll_bar = 10, scroll_handle = 32;
  int slider_groove = 4, slider_handle = 14;
  int tab_line = 2;
  int progress_height = 18;
  int list_indent = 5, list_gap = 10;  // of a list's items
  int menu_margin = 4, menu_mark = 24, menu_separator = 9;
};
inline constexpr StyleMetrics kStyle;

inline bool has(const QStyleOption& option, QStyle::StateFlag flag) {
  return option.state.testFlag(flag);
}

inline QColor color(const QStyleOption& option, QPalette::ColorRole role) {
  return option.palette.color(has(option, QStyle::State_Enabled) ? QPalette::Active : QPalette::Disabled,
                              role);
}

// A rounded box with a line of one pixel inside its edge; an invalid colour leaves out fill or line.
void draw_box(QPainter& painter, const QRect& rect, double radius, const QColor& fill, const QColor& line,
              int line_width = 1);
void draw_chevron(QPainter& painter, const QRect& rect, Qt::ArrowType to, const QColor& color);
void draw_tick(QPainter& painter, const QRectF& square, const QColor& color);

// Buttons and editors (style_controls.cpp).
void draw_push_button(const QStyleOptionButton& button, QPainter& painter, const QWidget* widget);
void draw_tool_button(const QStyleOptionToolButton& button, QPainter& painter, const QWidget* widget);
void draw_check_box(const QStyleOption& option, QPainter& painter);
void draw_field(const QStyleOption& option, QPainter& painter, const QWidget* widget);
void draw_combo_box(const QStyleOptionComboBox& combo, QPainter& painter, const QWidget* widget);
void draw_spin_box(const QStyleOptionSpinBox& spin, QPainter& painter, const QWidget* widget);
void draw_slider(const QStyleOptionSlider& slider, QPainter& painter, const QWidget* widget);
void draw_scroll_bar(const QStyleOptionSlider& bar, QPainter& painter);
void draw_progress_bar(const QStyleOptionProgressBar& bar, QPainter& painter);
QRect scroll_bar_part(const QStyleOptionSlider& bar, QStyle::SubControl part);

// What holds them (style_panels.cpp).
void draw_card(const QStyleOption& option, QPainter& painter);
void draw_frame(const QStyleOption& option, QPainter& painter, const QWidget* widget);
void draw_tip(const QStyleOption& option, QPainter& painter);
void draw_header_ground(const QStyleOption& option, QPainter& painter);
void draw_header(const QStyleOptionHeader& header, QPainter& painter);
void draw_tab(const QStyleOptionTab& tab, QPainter& painter);
void draw_tab_text(const QStyleOptionTab& tab, QPainter& painter);
void draw_menu(const QStyleOption& option, QPainter& painter);
void draw_menu_item(const QStyleOptionMenuItem& item, QPainter& painter);
QSize menu_item_size(const QStyleOptionMenuItem& item, const QSize& text);

}  // namespace lathe::ui
