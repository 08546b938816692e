// What can be asserted about the look of a page without looking at it: nothing is cut off, squeezed, or laid
// over its neighbour. Texts of the user (paths, names) may elide: ElidedLabel does, and tells the whole in a
// tool tip.
#pragma once

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QWidget>

namespace lathe::ui {

class LayoutCheck {
 public:
  // One line a fault.
  static QStringList faults(const QWidget& root) {
    LayoutCheck check;
    for (QWidget* widget : root.findChildren<QWidget*>()) {
      if (!widget->isVisible() || is_inside(widget)) continue;
      check.controls(*widget);
      check.labels(*widget);
      check.painted(*widget);
      check.headers(*widget);
      check.tabs(*widget);
      check.children(*widget);
    }
    check.children(root);
    return check.faults_;
  }

 private:
  static constexpr int kTitleMargins = 16, kSortMark = 16;

  // Parts Qt makes and lays out itself.
  static bool is_inside(const QWidget* widget) {
    const QWidget* parent = widget->parentWidget();
    return widget->objectName().startsWith(QStringLiteral("qt_")) || qobject_cast<const QLineEdit*>(parent) ||
           qobject_cast<const QAbstractSpinBox*>(parent) || qobject_cast<const QComboBox*>(parent) ||
           qobject_cast<const QTabBar*>(parent) || qobject_cast<const QScrollBar*>(widget) ||
           widget->inherits("QTableCornerButton");
  }

  static bool is_control(const QWidget& widget) {
    return qobject_cast<const QAbstractButton*>(&widget) || qobject_cast<const QComboBox*>(&widget) ||
           qobject_cast<const QLineEdit*>(&widget) || qobject_cast<const QAbstractSpinBox*>(&widget);
  }

  static QString name(const QWidget& widget) {
    QString text;
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) text = button->text();
    if (const auto* label = qobject_cast<const QLabel*>(&widget)) text = label->text();
    if (const auto* box = qobject_cast<const QComboBox*>(&widget)) text = box->currentText();
    if (text.isEmpty()) text = widget.accessibleName();
    if (text.isEmpty()) text = widget.objectName();
    return QStringLiteral("%1 \"%2\"").arg(QLatin1String(widget.metaObject()->className()), text.left(60));
  }

  void add(const QWidget& widget, const QString& what) {
    faults_ << name(widget) + QStringLiteral(": ") + what;
  }

  void controls(const QWidget& widget) {
    if (!is_control(widget)) return;
    const QSize least =
        widget.minimumSizeHint().expandedTo(widget.minimumSize()).boundedTo(widget.maximumSize());
    if (widget.width() < least.width() || widget.height() < least.height()) {
      add(widget, QStringLiteral("%1 x %2, needs %3 x %4")
                      .arg(widget.width())
                      .arg(widget.height())
                      .arg(least.width())
                      .arg(least.height()));
    }
  }

  void labels(const QWidget& widget) {
    const auto* label = qobject_cast<const QLabel*>(&widget);
    if (label == nullptr || label->text().isEmpty()) return;
    if (label->wordWrap()) {
      const int needed = label->heightForWidth(label->width());
      if (needed > label->height() + 1)
        add(widget, QStringLiteral("%1 high, its lines need %2").arg(label->height()).arg(needed));
      return;
    }
    const int needed = Qt::mightBeRichText(label->text())
                           ? label->sizeHint().width()
                           : label->fontMetrics().horizontalAdvance(label->text());
    if (needed > label->contentsRect().width() + 1)
      add(widget,
          QStringLiteral("%1 wide, its text needs %2").arg(label->contentsRect().width()).arg(needed));
  }

  // What paints its texts itself says whether it cut one off (set_elided).
  void painted(const QWidget& widget) {
    if (widget.property("elided").toBool()) add(widget, QStringLiteral("a text it paints is cut off"));
  }

  void headers(const QWidget& widget) {
    const auto* header = qobject_cast<const QHeaderView*>(&widget);
    if (header == nullptr || header->model() == nullptr || header->orientation() != Qt::Horizontal) return;
    for (int section = 0; section < header->count(); ++section) {
      const QString title = header->model()->headerData(section, Qt::Horizontal).toString();
      if (header->isSectionHidden(section) || title.isEmpty()) continue;
      const bool sorted = header->isSortIndicatorShown() && header->sortIndicatorSection() == section;
      const int needed =
          header->fontMetrics().horizontalAdvance(title) + kTitleMargins + (sorted ? kSortMark : 0);
      if (header->sectionSize(section) < needed) {
        add(*header->parentWidget(), QStringLiteral("column \"%1\" is %2 wide, its title needs %3")
                                         .arg(title)
                                         .arg(header->sectionSize(section))
                                         .arg(needed));
      }
    }
  }

  void tabs(const QWidget& widget) {
    const auto* bar = qobject_cast<const QTabBar*>(&widget);
    if (bar == nullptr || bar->count() == 0) return;
    if (bar->tabRect(bar->count() - 1).right() > bar->width()) add(widget, QStringLiteral("tabs don't fit"));
  }

  // Siblings must not overlap, nor stick out of their parent.
  void children(const QWidget& parent) {
    if (qobject_cast<const QStackedWidget*>(&parent) || qobject_cast<const QSplitter*>(&parent) ||
        qobject_cast<const QAbstractItemView*>(&parent) || parent.layout() == nullptr)
      return;
    std::vector<const QWidget*> shown;
    for (const QObject* child : parent.children()) {
      const auto* widget = qobject_cast<const QWidget*>(child);
      if (widget == nullptr || !widget->isVisible() || widget->isWindow()) continue;
      if (parent.layout()->indexOf(const_cast<QWidget*>(widget)) < 0 && !is_control(*widget)) continue;
      if (!parent.rect().contains(widget->geometry()))
        add(*widget, QStringLiteral("sticks out of its parent"));
      for (const QWidget* other : shown) {
        if (widget->geometry().intersects(other->geometry()))
          add(*widget, QStringLiteral("overlaps %1").arg(name(*other)));
      }
      shown.push_back(widget);
    }
  }

  QStringList faults_;
};

}  // namespace lathe::ui
