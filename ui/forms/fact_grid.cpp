#include "ui/forms/fact_grid.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/theme/theme.h"

namespace lathe::ui {

FactGrid::FactGrid(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void FactGrid::set_facts(std::vector<Fact> facts) {
  facts_ = std::move(facts);
  QStringList texts;
  for (const Fact& fact : facts_) texts << fact.name + QLatin1Char(' ') + fact.value;
  setAccessibleName(texts.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

void FactGrid::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  update();
}

QFont FactGrid::value_font() const {
  QFont value = font();
  value.setWeight(QFont::DemiBold);
  return value;
}

int FactGrid::columns(int width) const {
  int widest = 8 * Theme::grid;
  const QFontMetrics values(value_font());
  for (const Fact& fact : facts_) {
    widest =
        std::max({widest, fontMetrics().horizontalAdvance(fact.name), values.horizontalAdvance(fact.value)});
  }
  return std::clamp(width / (widest + 2 * Theme::grid), 1, std::max<int>(1, static_cast<int>(facts_.size())));
}

int FactGrid::cell_height() const {
  return fontMetrics().height() + QFontMetrics(value_font()).height() + Theme::grid;
}

int FactGrid::heightForWidth(int width) const {
  const int across = columns(width);
  const int rows = (static_cast<int>(facts_.size()) + across - 1) / across;
  return std::max(1, rows) * cell_height();
}

QSize FactGrid::sizeHint() const {
  return {400, heightForWidth(std::max(width(), 400))};
}

QSize FactGrid::minimumSizeHint() const {
  return {160, cell_height()};
}

void FactGrid::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setOpacity(stale_ ? 0.45 : 1.0);
  const int across = columns(width()), cell_width = width() / across;
  for (int i = 0; i < static_cast<int>(facts_.size()); ++i) {
    const Fact& fact = facts_[static_cast<size_t>(i)];
    const QRect cell(i % across * cell_width, i / across * cell_height(), cell_width - Theme::grid,
                     cell_height());
    painter.setFont(font());
    painter.setPen(theme_.colors().muted);
    painter.drawText(cell, Qt::AlignLeft | Qt::AlignTop,
                     fontMetrics().elidedText(fact.name, Qt::ElideRight, cell.width()));
    painter.setFont(value_font());
    painter.setPen(theme_.colors().text);
    painter.drawText(cell.adjusted(0, fontMetrics().height(), 0, 0), Qt::AlignLeft | Qt::AlignTop,
                     painter.fontMetrics().elidedText(fact.value, Qt::ElideRight, cell.width()));
  }
}

bool FactGrid::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !facts_.empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int across = columns(width());
    const int index =
        help->pos().y() / cell_height() * across + help->pos().x() / std::max(1, width() / across);
    if (index >= 0 && index < static_cast<int>(facts_.size())) {
      QToolTip::showText(help->globalPos(), facts_[static_cast<size_t>(index)].tip, this);
      return true;
    }
  }
  return QWidget::event(event);
}

}  // namespace lathe::ui
