#include "ui/charts/chart_legend.h"

#include <QPainter>
#include <QPixmap>
#include <QSignalBlocker>
#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <QToolButton>
#include <algorithm>
#include <utility>
#include <vector>

namespace lathe::ui {
namespace {

// Quiet until pointed at: what is shown or hidden say the swatch and the strike-out.
class LegendButton : public QToolButton {
 public:
  using QToolButton::QToolButton;

  QSize sizeHint() const override {
    const QSize words = fontMetrics().size(Qt::TextShowMnemonic, text());
    return {iconSize().width() + words.width() + 14, std::max(iconSize().height(), words.height()) + 4};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QStylePainter painter(this);
    QStyleOptionToolButton option;
    initStyleOption(&option);
    if (underMouse() || hasFocus()) {
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(palette().color(QPalette::Mid));
      painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
    painter.drawControl(QStyle::CE_ToolButtonLabel, option);
  }
};

}  // namespace

FlowLayout::FlowLayout(QWidget* parent, int gap) : QLayout(parent), gap_(gap) {
  setContentsMargins(0, 0, 0, 0);
}

FlowLayout::~FlowLayout() {
  for (QLayoutItem* item : items_) delete item;
}

void FlowLayout::addItem(QLayoutItem* item) {
  items_.push_back(item);
}

QLayoutItem* FlowLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? items_[static_cast<size_t>(index)] : nullptr;
}

QLayoutItem* FlowLayout::takeAt(int index) {
  QLayoutItem* item = itemAt(index);
  if (item != nullptr) items_.erase(items_.begin() + index);
  return item;
}

int FlowLayout::heightForWidth(int width) const {
  return place(QRect(0, 0, width, 0), false);
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  }
  return size;
}

void FlowLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  place(rect, true);
}

// Items stand in the middle of their line.
int FlowLayout::place(const QRect& rect, bool move) const {
  int x = rect.x(), y = rect.y(), line = 0;
  std::vector<std::pair<QLayoutItem*, QRect>> in_line;
  const auto settle = [&] {
    for (auto& [item, place] : in_line) {
      if (move) item->setGeometry(place.translated(0, (line - place.height()) / 2));
    }
    in_line.clear();
  };
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;  // hidden: no gap for it either
    const QSize size(std::min(item->sizeHint().width(), std::max(1, rect.width())),
                     item->sizeHint().height());
    if (x > rect.x() && x + size.width() > rect.right() + 1) {
      settle();
      x = rect.x();
      y += line + gap_ / 2;
      line = 0;
    }
    in_line.emplace_back(item, QRect(QPoint(x, y), size));
    x += size.width() + gap_;
    line = std::max(line, size.height());
  }
  settle();
  return y + line - rect.y();
}

ChartLegend::ChartLegend(QWidget* parent) : QWidget(parent) {
  new FlowLayout(this, 4);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
}

void ChartLegend::set_items(const std::vector<Item>& items) {
  if (items == items_) return;
  items_ = items;
  while (buttons_.size() > items.size()) {
    buttons_.back()->deleteLater();
    buttons_.back()->hide();
    layout()->removeWidget(buttons_.back());
    buttons_.pop_back();
  }
  while (buttons_.size() < items.size()) {
    auto* button = new LegendButton(this);
    button->setIconSize(QSize(18, 10));
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    button->setCheckable(true);
    connect(button, &QToolButton::toggled, this,
            [this, index = buttons_.size()](bool on) { Q_EMIT toggled(items_[index].key, !on); });
    layout()->addWidget(button);
    button->show();
    buttons_.push_back(button);
  }
  for (size_t i = 0; i < items.size(); ++i) show_item(*buttons_[i], items[i]);
  updateGeometry();
}

void ChartLegend::show_item(QToolButton& button, const Item& item) {
  QPixmap swatch(QSize(18, 10) * devicePixelRatioF());
  swatch.setDevicePixelRatio(devicePixelRatioF());
  swatch.fill(Qt::transparent);
  {
    QPainter painter(&swatch);
    QColor color = item.color;
    if (item.hidden) color.setAlpha(70);
    painter.setPen(QPen(color, 3, item.pen));
    painter.drawLine(1, 5, 17, 5);
  }
  button.setText(item.name);
  button.setIcon(swatch);
  {
    const QSignalBlocker quiet(button);
    button.setChecked(!item.hidden);
  }
  QFont font = button.font();
  font.setStrikeOut(item.hidden);
  button.setFont(font);
  button.setAccessibleName(tr("Show %1").arg(item.name));
  button.setToolTip(tr("Show or hide %1").arg(item.name));
}

}  // namespace lathe::ui
