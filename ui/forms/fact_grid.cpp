#include "ui/forms/fact_grid.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {
constexpr int kGap = 2 * Theme::grid;
}

FactGrid::FactGrid(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
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

int FactGrid::fact_width(const Fact& fact) const {
  return std::max({6 * Theme::grid, fontMetrics().horizontalAdvance(fact.name),
                   QFontMetrics(value_font()).horizontalAdvance(fact.value)}) +
         kGap;
}

int FactGrid::columns(int width) const {
  int widest = 1;
  for (const Fact& fact : facts_) widest = std::max(widest, fact_width(fact));
  return std::clamp(width / widest, 1, std::max<int>(1, static_cast<int>(facts_.size())));
}

std::vector<QRect> FactGrid::cells(int width) const {
  std::vector<QRect> rects;
  int needed = -kGap;
  for (const Fact& fact : facts_) needed += fact_width(fact);
  if (needed <= width) {
    int x = 0;
    // What is left over goes between them, up to a point: facts far apart are hard to read as one line.
    const int extra =
        std::min<int>(2 * kGap, (width - needed) / std::max<int>(1, static_cast<int>(facts_.size())));
    for (const Fact& fact : facts_) {
      rects.emplace_back(x, 0, fact_width(fact), cell_height());
      x += fact_width(fact) + extra;
    }
    return rects;
  }
  const int across = columns(width), cell_width = width / across;
  for (int i = 0; i < static_cast<int>(facts_.size()); ++i) {
    rects.emplace_back(i % across * cell_width, i / across * cell_height(), cell_width, cell_height());
  }
  return rects;
}

int FactGrid::cell_height() const {
  return fontMetrics().height() + QFontMetrics(value_font()).height() + 4;
}

int FactGrid::height_for(int width) const {
  const std::vector<QRect> rects = cells(width);
  return rects.empty() ? cell_height() : rects.back().bottom() + 1;
}

QSize FactGrid::sizeHint() const {
  return {400, height_for(width())};
}

QSize FactGrid::minimumSizeHint() const {
  return {160, cell_height()};
}

// As tall as the lines the facts need at this width.
void FactGrid::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  updateGeometry();
}

void FactGrid::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setOpacity(stale_ ? 0.45 : 1.0);
  const std::vector<QRect> rects = cells(width());
  for (size_t i = 0; i < facts_.size(); ++i) {
    const Fact& fact = facts_[i];
    const QRect cell = rects[i].adjusted(0, 0, -kGap / 2, 0);
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
    const std::vector<QRect> rects = cells(width());
    for (size_t i = 0; i < rects.size(); ++i) {
      if (!rects[i].contains(help->pos())) continue;
      QToolTip::showText(help->globalPos(), facts_[i].tip, this);
      return true;
    }
  }
  return QWidget::event(event);
}

}  // namespace lathe::ui
