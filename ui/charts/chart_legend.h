// The legend of a chart: one toggle a series, wrapping into as many lines as it needs.
#pragma once

#include <QColor>
#include <QLayout>
#include <QString>
#include <QWidget>
#include <vector>

class QToolButton;

namespace lathe::ui {

// Items from left to right, wrapping like words.
class FlowLayout : public QLayout {
 public:
  explicit FlowLayout(QWidget* parent = nullptr, int gap = 8);
  ~FlowLayout() override;
  void addItem(QLayoutItem* item) override;
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize minimumSize() const override;
  QSize sizeHint() const override { return minimumSize(); }
  void setGeometry(const QRect& rect) override;
  Qt::Orientations expandingDirections() const override { return {}; }

 private:
  int place(const QRect& rect, bool move) const;
  std::vector<QLayoutItem*> items_;
  int gap_;
};

class ChartLegend : public QWidget {
  Q_OBJECT
 public:
  explicit ChartLegend(QWidget* parent = nullptr);

  struct Item {
    QString key;
    QString name;
    QColor color;
    Qt::PenStyle pen = Qt::SolidLine;
    bool hidden = false;
    bool operator==(const Item&) const = default;
  };
  void set_items(const std::vector<Item>& items);

 Q_SIGNALS:
  void toggled(const QString& key, bool hidden);

 private:
  void show_item(QToolButton& button, const Item& item);

  std::vector<Item> items_;
  std::vector<QToolButton*> buttons_;  // one an item
};

}  // namespace lathe::ui
