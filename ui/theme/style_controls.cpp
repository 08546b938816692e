#include <QAbstractSpinBox>
#include <QPainterPath>
#include <QWidget>
#include <algorithm>

#include "ui/theme/style_parts.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

void draw_box(QPainter& painter, const QRect& rect, double radius, const QColor& fill, const QColor& line,
              int line_width) {
  const double inset = line.isValid() ? line_width / 2.0 : 0;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(line.isValid() ? QPen(line, line_width) : Qt::NoPen);
  painter.setBrush(fill.isValid() ? QBrush(fill) : Qt::NoBrush);
  painter.drawRoundedRect(QRectF(rect).adjusted(inset, inset, -inset, -inset), radius, radius);
  painter.restore();
}

void draw_chevron(QPainter& painter, const QRect& rect, Qt::ArrowType to, const QColor& color) {
  static const QPolygonF down{QPointF(-3.5, -1.8), QPointF(0, 1.8), QPointF(3.5, -1.8)};
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(color, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.translate(QRectF(rect).center());
  painter.rotate(to == Qt::UpArrow ? 180 : to == Qt::LeftArrow ? 90 : to == Qt::RightArrow ? -90 : 0);
  painter.drawPolyline(down);
  painter.restore();
}

void draw_tick(QPainter& painter, const QRectF& square, const QColor& color) {
  const auto at = [&](double x, double y) {
    return QPointF(square.left() + x * square.width(), square.top() + y * square.height());
  };
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(color, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPolyline(QPolygonF{at(0.24, 0.52), at(0.43, 0.71), at(0.77, 0.31)});
  painter.restore();
}

void draw_push_button(const QStyleOptionButton& button, QPainter& painter, const QWidget* widget) {
  const bool enabled = has(button, QStyle::State_Enabled), focus = has(button, QStyle::State_HasFocus);
  const bool hover = has(button, QStyle::State_MouseOver);
  const bool down = has(button, QStyle::State_Sunken) || has(button, QStyle::State_On);
  QColor fill, line, ink = color(button, enabled ? QPalette::ButtonText : QPalette::PlaceholderText);
  int line_width = 1;
  if (widget != nullptr && is_primary(*widget)) {
    fill = color(button, QPalette::Highlight);
    if (enabled && (hover || down)) fill = down ? fill.darker(112) : fill.lighter(112);
    if (enabled) ink = color(button, QPalette::HighlightedText);
    if (focus) line = color(button, QPalette::Text);
    line_width = 2;
  } else {
    fill = color(button, !enabled ? QPalette::Window
                         : down   ? QPalette::Mid
                         : hover  ? QPalette::Button
                                  : QPalette::Base);
    line = color(button, focus ? QPalette::Highlight : QPalette::Mid);
  }
  draw_box(painter, button.rect, kStyle.button_radius, fill, line, line_width);
  if (button.features.testFlag(QStyleOptionButton::HasMenu)) {
    const QRect right(button.rect.right() - kStyle.chevron_room, button.rect.top(), kStyle.chevron_room,
                      button.rect.height());
    draw_chevron(painter, QStyle::visualRect(button.direction, button.rect, right), Qt::DownArrow, ink);
  }
  QStyleOptionButton label = button;
  label.palette.setColor(QPalette::ButtonText, ink);
  widget->style()->drawControl(QStyle::CE_PushButtonLabel, &label, &painter, widget);
}

void draw_tool_button(const QStyleOptionToolButton& button, QPainter& painter, const QWidget* widget) {
  const bool enabled = has(button, QStyle::State_Enabled);
  const bool down = has(button, QStyle::State_Sunken) || has(button, QStyle::State_On);
  QColor fill, line;
  if (down) fill = color(button, QPalette::Mid);
  if (!down && enabled && has(button, QStyle::State_MouseOver)) fill = color(button, QPalette::Button);
  if (has(button, QStyle::State_HasFocus)) line = color(button, QPalette::Highlight);
  draw_box(painter, button.rect, kStyle.button_radius, fill, line);
  QStyleOptionToolButton label = button;
  label.rect = button.rect.marginsRemoved(QMargins(4, 4, 4, 4));
  widget->style()->drawControl(QStyle::CE_ToolButtonLabel, &label, &painter, widget);
}

void draw_check_box(const QStyleOption& option, QPainter& painter) {
  const bool on = has(option, QStyle::State_On), partly = has(option, QStyle::State_NoChange);
  const bool accent = on || partly || has(option, QStyle::State_HasFocus);
  const int side = std::min(option.rect.width(), option.rect.height());
  QRect square(0, 0, side, side);
  square.moveCenter(option.rect.center());
  draw_box(painter, square, 3, color(option, on || partly ? QPalette::Highlight : QPalette::Base),
           color(option, accent ? QPalette::Highlight : QPalette::PlaceholderText));
  const QColor mark = option.palette.color(QPalette::HighlightedText);
  if (partly) {
    painter.fillRect(QRectF(square).adjusted(3.5, side / 2.0 - 1, -3.5, 1 - side / 2.0), mark);
  } else if (on) {
    draw_tick(painter, QRectF(square).adjusted(0.5, 0.5, -0.5, -0.5), mark);
  }
}

// The frame of every editor: accent when it has the keyboard.
void draw_field(const QStyleOption& option, QPainter& painter, const QWidget* widget) {
  const bool enabled = has(option, QStyle::State_Enabled);
  const bool bad = widget != nullptr && tone_of(*widget) == Tone::Bad;
  draw_box(painter, option.rect, kStyle.field_radius, color(option, QPalette::Base),
           color(option, bad                                               ? QPalette::BrightText
                         : enabled && has(option, QStyle::State_HasFocus)  ? QPalette::Highlight
                         : enabled && has(option, QStyle::State_MouseOver) ? QPalette::Dark
                                                                           : QPalette::Mid));
}

void draw_combo_box(const QStyleOptionComboBox& combo, QPainter& painter, const QWidget* widget) {
  draw_field(combo, painter, widget);
  draw_chevron(painter,
               widget->style()->subControlRect(QStyle::CC_ComboBox, &combo, QStyle::SC_ComboBoxArrow, widget),
               Qt::DownArrow, color(combo, QPalette::Text));
}

void draw_spin_box(const QStyleOptionSpinBox& spin, QPainter& painter, const QWidget* widget) {
  draw_field(spin, painter, widget);
  if (spin.buttonSymbols == QAbstractSpinBox::NoButtons) return;
  const auto draw = [&](QStyle::SubControl part, Qt::ArrowType to, QAbstractSpinBox::StepEnabledFlag needed) {
    QStyleOptionSpinBox arrow = spin;
    arrow.state.setFlag(QStyle::State_Enabled,
                        has(spin, QStyle::State_Enabled) && spin.stepEnabled.testFlag(needed));
    draw_chevron(painter, widget->style()->subControlRect(QStyle::CC_SpinBox, &spin, part, widget), to,
                 color(arrow, QPalette::Text));
  };
  draw(QStyle::SC_SpinBoxUp, Qt::UpArrow, QAbstractSpinBox::StepUpEnabled);
  draw(QStyle::SC_SpinBoxDown, Qt::DownArrow, QAbstractSpinBox::StepDownEnabled);
}

void draw_slider(const QStyleOptionSlider& slider, QPainter& painter, const QWidget* widget) {
  const QRect at =
      widget->style()->subControlRect(QStyle::CC_Slider, &slider, QStyle::SC_SliderHandle, widget);
  const bool across = slider.orientation == Qt::Horizontal;
  const int thick = kStyle.slider_groove, radius = thick / 2;
  QRect groove = across ? QRect(slider.rect.left(), 0, slider.rect.width(), thick)
                        : QRect(0, slider.rect.top(), thick, slider.rect.height());
  across ? groove.moveTop(at.center().y() - radius + 1) : groove.moveLeft(at.center().x() - radius + 1);
  draw_box(painter, groove, radius, color(slider, QPalette::Mid), {});
  QRect passed = groove;  // from the least value to the handle
  if (!across) {
    slider.upsideDown ? passed.setTop(at.center().y()) : passed.setBottom(at.center().y());
  } else {
    slider.upsideDown ? passed.setLeft(at.center().x()) : passed.setRight(at.center().x());
  }
  draw_box(painter, passed, radius, color(slider, QPalette::Highlight), {});
  QRect handle(0, 0, kStyle.slider_handle, kStyle.slider_handle);
  handle.moveCenter(at.center());
  const bool near = has(slider, QStyle::State_HasFocus) || has(slider, QStyle::State_MouseOver);
  draw_box(painter, handle, kStyle.slider_handle / 2.0, color(slider, QPalette::Base),
           color(slider, near ? QPalette::Highlight : QPalette::PlaceholderText));
}

QRect scroll_bar_part(const QStyleOptionSlider& bar, QStyle::SubControl part) {
  const bool across = bar.orientation == Qt::Horizontal;
  const int length = across ? bar.rect.width() : bar.rect.height();
  const int range = bar.maximum - bar.minimum;
  const qint64 share = range <= 0 ? length : qint64{length} * bar.pageStep / (qint64{range} + bar.pageStep);
  const int handle = std::min<int>(length, std::max<int>(kStyle.scroll_handle, static_cast<int>(share)));
  const int start = QStyle::sliderPositionFromValue(bar.minimum, bar.maximum, bar.sliderPosition,
                                                    length - handle, bar.upsideDown);
  const auto along = [&](int from, int to) {
    const QRect rect = across ? QRect(bar.rect.left() + from, bar.rect.top(), to - from, bar.rect.height())
                              : QRect(bar.rect.left(), bar.rect.top() + from, bar.rect.width(), to - from);
    return QStyle::visualRect(bar.direction, bar.rect, rect);
  };
  switch (part) {
    case QStyle::SC_ScrollBarGroove:
      return bar.rect;
    case QStyle::SC_ScrollBarSlider:
      return along(start, start + handle);
    case QStyle::SC_ScrollBarSubPage:
      return along(0, start);
    case QStyle::SC_ScrollBarAddPage:
      return along(start + handle, length);
    default:
      return {};
  }
}

void draw_scroll_bar(const QStyleOptionSlider& bar, QPainter& painter) {
  if (bar.maximum <= bar.minimum) return;
  const bool near = bar.activeSubControls.testFlag(QStyle::SC_ScrollBarSlider) &&
                    (has(bar, QStyle::State_MouseOver) || has(bar, QStyle::State_Sunken));
  draw_box(painter, scroll_bar_part(bar, QStyle::SC_ScrollBarSlider).marginsRemoved(QMargins(1, 1, 1, 1)),
           kStyle.field_radius, color(bar, near ? QPalette::PlaceholderText : QPalette::Mid), {});
}

void draw_progress_bar(const QStyleOptionProgressBar& bar, QPainter& painter) {
  draw_box(painter, bar.rect, kStyle.field_radius, color(bar, QPalette::Window), color(bar, QPalette::Mid));
  const double all = static_cast<double>(bar.maximum) - bar.minimum;
  const QRect inner = bar.rect.marginsRemoved(QMargins(1, 1, 1, 1));
  QColor fill = color(bar, QPalette::Highlight);
  double done = 1;
  if (all > 0) {
    done = std::clamp((static_cast<double>(bar.progress) - bar.minimum) / all, 0.0, 1.0);
  } else {
    fill.setAlphaF(0.4F);  // busy: no one knows how far
  }
  QRect chunk = inner;
  chunk.setWidth(static_cast<int>(done * inner.width()));
  if (!chunk.isEmpty()) {
    QPainterPath rounded;
    rounded.addRoundedRect(inner, kStyle.field_radius - 1, kStyle.field_radius - 1);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(QStyle::visualRect(bar.direction, bar.rect, chunk));
    painter.fillPath(rounded, fill);
    painter.restore();
  }
  if (!bar.textVisible) return;
  painter.setPen(color(bar, QPalette::Text));
  painter.drawText(bar.rect, Qt::AlignCenter, bar.text);
}

}  // namespace lathe::ui
