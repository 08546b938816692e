#include <QAbstractScrollArea>
#include <QIcon>
#include <QLabel>
#include <algorithm>

#include "ui/theme/style_parts.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

void draw_text(QPainter& painter, const QRect& rect, Qt::Alignment alignment, const QString& text,
               const QColor& ink) {
  painter.setPen(ink);
  painter.drawText(rect, static_cast<int>(alignment) | Qt::TextSingleLine | Qt::TextShowMnemonic, text);
}

}  // namespace

void draw_card(const QStyleOption& option, QPainter& painter) {
  draw_box(painter, option.rect, kStyle.card_radius, color(option, QPalette::Base),
           color(option, QPalette::Mid));
}

// Of a styled panel: a label's is its tint, that of a list or text an editor's; the others are cards.
void draw_frame(const QStyleOption& option, QPainter& painter, const QWidget* widget) {
  if (widget != nullptr && widget->isWindow()) {
    draw_menu(option, painter);
  } else if (qobject_cast<const QLabel*>(widget) != nullptr) {
    draw_box(painter, option.rect, kStyle.field_radius, tint_of(tone_of(*widget)), {});
  } else if (qobject_cast<const QAbstractScrollArea*>(widget) != nullptr) {
    draw_field(option, painter, widget);
  } else {
    draw_card(option, painter);
  }
}

void draw_tip(const QStyleOption& option, QPainter& painter) {
  painter.fillRect(option.rect, color(option, QPalette::Mid));
  painter.fillRect(option.rect.marginsRemoved(QMargins(1, 1, 1, 1)), color(option, QPalette::ToolTipBase));
}

void draw_header_ground(const QStyleOption& option, QPainter& painter) {
  painter.fillRect(option.rect, color(option, QPalette::Base));
  painter.fillRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1,
                   color(option, QPalette::Mid));
}

void draw_header(const QStyleOptionHeader& header, QPainter& painter) {
  draw_header_ground(header, painter);
  const QColor ink = color(header, QPalette::PlaceholderText);
  const auto place = [&](const QRect& rect) {
    return QStyle::visualRect(header.direction, header.rect, rect);
  };
  QRect words = header.rect.marginsRemoved(kStyle.header);
  if (header.sortIndicator != QStyleOptionHeader::None) {
    words.setRight(words.right() - kStyle.chevron_room / 2 - 4);
    const QRect arrow(words.right() + 5, words.top(), kStyle.chevron_room / 2, words.height());
    draw_chevron(painter, place(arrow),
                 header.sortIndicator == QStyleOptionHeader::SortUp ? Qt::UpArrow : Qt::DownArrow, ink);
  }
  draw_text(painter, place(words), header.textAlignment,
            header.fontMetrics.elidedText(header.text, Qt::ElideRight, words.width()), ink);
}

void draw_tab(const QStyleOptionTab& tab, QPainter& painter) {
  if (!has(tab, QStyle::State_Selected)) return;
  painter.fillRect(tab.rect.left(), tab.rect.bottom() + 1 - kStyle.tab_line, tab.rect.width(),
                   kStyle.tab_line, color(tab, QPalette::Highlight));
}

void draw_tab_text(const QStyleOptionTab& tab, QPainter& painter) {
  const bool selected = has(tab, QStyle::State_Selected);
  const QPalette::ColorRole role = selected && has(tab, QStyle::State_HasFocus) ? QPalette::Highlight
                                   : selected || has(tab, QStyle::State_MouseOver)
                                       ? QPalette::Text
                                       : QPalette::PlaceholderText;
  draw_text(painter, tab.rect.adjusted(0, 0, 0, -kStyle.tab_line), Qt::AlignCenter, tab.text,
            color(tab, role));
}

void draw_menu(const QStyleOption& option, QPainter& painter) {
  // Without regard to the option's state, which a menu leaves empty.
  painter.fillRect(option.rect, option.palette.color(QPalette::Active, QPalette::Mid));
  painter.fillRect(option.rect.marginsRemoved(QMargins(1, 1, 1, 1)),
                   option.palette.color(QPalette::Active, QPalette::Base));
}

namespace {

int mark_room(const QStyleOptionMenuItem& item) {
  return item.menuHasCheckableItems || item.maxIconWidth > 0 ? kStyle.menu_mark : 0;
}

}  // namespace

void draw_menu_item(const QStyleOptionMenuItem& item, QPainter& painter) {
  if (item.menuItemType == QStyleOptionMenuItem::Separator) {
    const QMargins sides(8, 0, 8, 0);
    painter.fillRect(QRect(item.rect.left(), item.rect.center().y(), item.rect.width(), 1) - sides,
                     color(item, QPalette::Mid));
    return;
  }
  const bool enabled = has(item, QStyle::State_Enabled);
  const bool selected = enabled && has(item, QStyle::State_Selected);
  const QColor ink = color(item, selected  ? QPalette::HighlightedText
                                 : enabled ? QPalette::Text
                                           : QPalette::PlaceholderText);
  if (selected) draw_box(painter, item.rect, kStyle.field_radius, color(item, QPalette::Highlight), {});
  const auto place = [&](const QRect& rect) { return QStyle::visualRect(item.direction, item.rect, rect); };
  const QRect inner = item.rect.marginsRemoved(kStyle.menu_item);
  const QRect mark = place(QRect(inner.left() - 4, item.rect.center().y() - 7, 16, 16));
  if (!item.icon.isNull()) {
    item.icon.paint(&painter, mark, Qt::AlignCenter,
                    selected  ? QIcon::Selected
                    : enabled ? QIcon::Normal
                              : QIcon::Disabled);
  } else if (item.checkType != QStyleOptionMenuItem::NotCheckable && item.checked) {
    draw_tick(painter, mark, ink);
  }
  const QRect words = inner.adjusted(mark_room(item), 0, 0, 0);
  const qsizetype tab = item.text.indexOf(QLatin1Char('\t'));
  draw_text(painter, place(words), QStyle::visualAlignment(item.direction, Qt::AlignLeft | Qt::AlignVCenter),
            item.text.left(tab), ink);
  if (tab >= 0) {
    draw_text(painter, place(words.adjusted(0, 0, 12, 0)),
              QStyle::visualAlignment(item.direction, Qt::AlignRight | Qt::AlignVCenter),
              item.text.mid(tab + 1), selected ? ink : color(item, QPalette::PlaceholderText));
  }
  if (item.menuItemType == QStyleOptionMenuItem::SubMenu) {
    const bool left = item.direction == Qt::RightToLeft;
    draw_chevron(painter, place(QRect(inner.right() + 4, item.rect.top(), 16, item.rect.height())),
                 left ? Qt::LeftArrow : Qt::RightArrow, ink);
  }
}

QSize menu_item_size(const QStyleOptionMenuItem& item, const QSize& text) {
  if (item.menuItemType == QStyleOptionMenuItem::Separator) return {10, kStyle.menu_separator};
  QSize size = QSize(text.width() + mark_room(item), item.fontMetrics.height()).grownBy(kStyle.menu_item);
  if (item.text.contains(QLatin1Char('\t'))) size.rwidth() += kStyle.menu_mark;
  return size;
}

}  // namespace lathe::ui
