// How the list of runs draws what isn't text: the loss as a small curve, the status as a coloured dot.
#pragma once

#include <QStyledItemDelegate>

#include "ui/pages/run_tab_parts.h"

namespace lathe::ui {

class Theme;

class SparklineDelegate : public QStyledItemDelegate {
 public:
  SparklineDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const Theme& theme_;
};

// The name, and a pin at the run the others are measured against.
class NameDelegate : public CellDelegate {
 public:
  NameDelegate(const Theme& theme, QObject* parent) : CellDelegate(parent), theme_(theme) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const Theme& theme_;
};

class StatusDelegate : public CellDelegate {
 public:
  StatusDelegate(const Theme& theme, QObject* parent) : CellDelegate(parent), theme_(theme) {}

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  const Theme& theme_;
};

}  // namespace lathe::ui
