#include "ui/theme/style.h"

#include <QListView>
#include <QPainter>
#include <QPainterPath>
#include <QStyleFactory>
#include <QStyleOption>

namespace lathe::ui {
namespace {

// The frame of every editor: one radius, one border, accent when it has the keyboard.
void draw_frame(QPainter* painter, const QRect& rect, const QStyleOption& option) {
  const QPalette& palette = option.palette;
  const bool enabled = (option.state & QStyle::State_Enabled) != 0;
  const bool focus = enabled && (option.state & QStyle::State_HasFocus) != 0;
  const bool hover = enabled && (option.state & QStyle::State_MouseOver) != 0;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(palette.color(focus   ? QPalette::Highlight
                                     : hover ? QPalette::Dark
                                             : QPalette::Mid),
                       1));
  painter->setBrush(palette.color(enabled ? QPalette::Active : QPalette::Disabled, QPalette::Base));
  painter->drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  painter->restore();
}

void draw_chevron(QPainter* painter, const QRect& rect, bool up, const QColor& color) {
  const QPointF middle = QRectF(rect).center();
  const double reach = 3.5, rise = up ? -1.8 : 1.8;
  QPainterPath path;
  path.moveTo(middle + QPointF(-reach, -rise));
  path.lineTo(middle + QPointF(0, rise));
  path.lineTo(middle + QPointF(reach, -rise));
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(color, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter->drawPath(path);
  painter->restore();
}

QColor ink(const QStyleOption& option, bool usable = true) {
  const bool enabled = usable && (option.state & QStyle::State_Enabled) != 0;
  return option.palette.color(enabled ? QPalette::Active : QPalette::Disabled, QPalette::Text);
}

}  // namespace

LatheStyle::LatheStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void LatheStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                    QPainter* painter, const QWidget* widget) const {
  if (control == CC_ComboBox) {
    if (const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option); combo && combo->frame) {
      draw_frame(painter, combo->rect, *combo);
      draw_chevron(painter, proxy()->subControlRect(CC_ComboBox, combo, SC_ComboBoxArrow, widget), false,
                   ink(*combo));
      return;
    }
  }
  if (control == CC_SpinBox) {
    if (const auto* spin = qstyleoption_cast<const QStyleOptionSpinBox*>(option); spin && spin->frame) {
      draw_frame(painter, spin->rect, *spin);
      if (spin->buttonSymbols == QAbstractSpinBox::NoButtons) return;
      draw_chevron(painter, proxy()->subControlRect(CC_SpinBox, spin, SC_SpinBoxUp, widget), true,
                   ink(*spin, (spin->stepEnabled & QAbstractSpinBox::StepUpEnabled) != 0));
      draw_chevron(painter, proxy()->subControlRect(CC_SpinBox, spin, SC_SpinBoxDown, widget), false,
                   ink(*spin, (spin->stepEnabled & QAbstractSpinBox::StepDownEnabled) != 0));
      return;
    }
  }
  QProxyStyle::drawComplexControl(control, option, painter, widget);
}

void LatheStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                               const QWidget* widget) const {
  if (element == PE_IndicatorCheckBox || element == PE_IndicatorItemViewItemCheck) {
    const bool on = (option->state & State_On) != 0, partly = (option->state & State_NoChange) != 0;
    const bool enabled = (option->state & State_Enabled) != 0;
    const QPalette::ColorGroup group = enabled ? QPalette::Active : QPalette::Disabled;
    const QRectF box = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
    const double side = std::min(box.width(), box.height());
    const QRectF square(box.center().x() - side / 2, box.center().y() - side / 2, side, side);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const bool filled = on || partly;
    painter->setPen(
        QPen(option->palette.color(group, filled                             ? QPalette::Highlight
                                          : (option->state & State_HasFocus) ? QPalette::Highlight
                                                                             : QPalette::PlaceholderText),
             1));
    painter->setBrush(filled ? option->palette.brush(group, QPalette::Highlight)
                             : option->palette.brush(group, QPalette::Base));
    painter->drawRoundedRect(square, 3, 3);
    painter->setPen(QPen(option->palette.color(QPalette::HighlightedText), 1.8, Qt::SolidLine, Qt::RoundCap,
                         Qt::RoundJoin));
    const auto at = [&](double x, double y) {
      return QPointF(square.left() + x * side, square.top() + y * side);
    };
    if (partly) {
      painter->drawLine(at(0.27, 0.5), at(0.73, 0.5));
    } else if (on) {
      painter->drawPolyline(QPolygonF{at(0.24, 0.52), at(0.43, 0.71), at(0.77, 0.31)});
    }
    painter->restore();
    return;
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
}

QSize LatheStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                                   const QWidget* widget) const {
  QSize result = QProxyStyle::sizeFromContents(type, option, size, widget);
  // As tall as line edits and buttons of the style sheet.
  if (type == CT_ComboBox || type == CT_SpinBox) result.setHeight(std::max(result.height(), 26));
  // Lists breathe; tables set their own row height.
  if (type == CT_ItemViewItem && qobject_cast<const QListView*>(widget)) result.rheight() += 10;
  return result;
}

int LatheStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                          QStyleHintReturn* result) const {
  // A list below the box, not a menu over it.
  if (hint == SH_ComboBox_Popup) return 0;
  return QProxyStyle::styleHint(hint, option, widget, result);
}

}  // namespace lathe::ui
