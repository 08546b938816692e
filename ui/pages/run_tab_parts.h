// How the lists of the Run page look, in one place.
#pragma once

#include <QHeaderView>
#include <QStyledItemDelegate>
#include <QTableView>

namespace lathe::ui {

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

  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override {
    QStyleOptionViewItem cell(option);
    cell.rect = inner(cell.rect);
    return QStyledItemDelegate::editorEvent(event, model, cell, index);
  }

 private:
  static QRect inner(const QRect& rect) { return rect.adjusted(4, 0, -4, 0); }
};

inline QTableView* make_table(const QString& name, QWidget* parent) {
  auto* view = new QTableView(parent);
  view->setAccessibleName(name);
  view->setFrameShape(QFrame::NoFrame);
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
