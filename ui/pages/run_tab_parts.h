// How lists look, in one place.
#pragma once

#include <QHeaderView>
#include <QPainter>
#include <QPixmap>
#include <QStyledItemDelegate>
#include <QTableView>

namespace lathe::ui {

// Puts a mark of `color` before a cell's text. On a selected row it gets an edge in the text's colour, as the
// mark's may be the highlight's.
inline void set_mark(QStyleOptionViewItem* option, const QColor& color, int side, double radius) {
  const qreal ratio = option->widget != nullptr ? option->widget->devicePixelRatioF() : 1;
  QPixmap mark(QSize(side, side) * ratio);
  mark.setDevicePixelRatio(ratio);
  mark.fill(Qt::transparent);
  QPainter painter(&mark);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  QRectF box(0, 0, side, side);
  if (option->state.testFlag(QStyle::State_Selected)) {
    const double edge = side / 8.0 + 0.5;
    painter.setBrush(option->palette.highlightedText());
    painter.drawRoundedRect(box, radius, radius);
    box.adjust(edge, edge, -edge, -edge);
  }
  painter.setBrush(color);
  painter.drawRoundedRect(box, radius, radius);
  painter.end();
  option->icon = QIcon(mark);
  option->icon.addPixmap(mark, QIcon::Selected);  // as it is: styles tint it otherwise
  option->decorationSize = QSize(side, side);
  option->features |= QStyleOptionViewItem::HasDecoration;
}

// Cells with the same room at both sides as the header's.
class CellDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem cell(option);
    initStyleOption(&cell, index);
    const QStyle* style = option.widget->style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &cell, painter, option.widget);
    cell.rect = inner(cell.rect);
    style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, option.widget);
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return QStyledItemDelegate::sizeHint(option, index).grownBy(kSides);
  }

  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override {
    QStyleOptionViewItem cell(option);
    cell.rect = inner(cell.rect);
    return QStyledItemDelegate::editorEvent(event, model, cell, index);
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const QVariant mark = index.data(Qt::DecorationRole);
    if (mark.typeId() == QMetaType::QColor)
      set_mark(option, mark.value<QColor>(), option->decorationSize.width(), 0);
  }

 private:
  static constexpr QMargins kSides{4, 0, 4, 0};
  static QRect inner(const QRect& rect) { return rect.marginsRemoved(kSides); }
};

inline QTableView* make_table(const QString& name, QWidget* parent) {
  auto* view = new QTableView(parent);
  view->setAccessibleName(name);
  view->setShowGrid(false);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setItemDelegate(new CellDelegate(view));
  view->setWordWrap(false);
  view->setTabKeyNavigation(false);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 8);
  view->horizontalHeader()->setHighlightSections(false);
  view->horizontalHeader()->setStretchLastSection(true);
  view->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  return view;
}

}  // namespace lathe::ui
