#include "ui/forms/fact_grid.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <numeric>

#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {
constexpr int kGap = 2 * Theme::grid, kLineGap = 4;
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

std::vector<int> FactGrid::column_widths(int across) const {
  std::vector<int> widths(static_cast<size_t>(across), 0);
  for (size_t i = 0; i < facts_.size(); ++i) {
    int& column = widths[i % widths.size()];
    column = std::max(column, fact_width(facts_[i]));
  }
  return widths;
}

std::vector<QRect> FactGrid::cells(int width) const {
  const int count = static_cast<int>(facts_.size());
  std::vector<int> widths;
  for (int lines = 1; lines <= count; ++lines) {
    widths = column_widths((count + lines - 1) / lines);
    if (std::accumulate(widths.begin(), widths.end(), -kGap) <= width) break;
  }
  // What is left over goes between them, up to a point: facts far apart are hard to read as one line.
  const int across = static_cast<int>(widths.size());
  const int left_over = width + kGap - std::accumulate(widths.begin(), widths.end(), 0);
  const int extra = std::clamp(left_over / std::max(1, across), 0, 4 * kGap);
  std::vector<QRect> rects;
  for (int i = 0, x = 0; i < count; ++i) {
    if (i % across == 0) x = 0;
    const int own = widths[static_cast<size_t>(i % across)];
    rects.emplace_back(x, i / across * cell_height(), std::min(own, width + kGap - x), cell_height());
    x += own + extra;
  }
  return rects;
}

int FactGrid::cell_height() const {
  return fontMetrics().height() + QFontMetrics(value_font()).height() + kLineGap;
}

int FactGrid::height_for(int width) const {
  const std::vector<QRect> rects = cells(width);
  return rects.empty() ? cell_height() : rects.back().bottom() + 1 - kLineGap;
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
  bool elided = false;
  for (size_t i = 0; i < facts_.size(); ++i) {
    const Fact& fact = facts_[i];
    const QRect cell = rects[i].adjusted(0, 0, -kGap / 2, 0);
    painter.setFont(font());
    painter.setPen(theme_.colors().muted);
    const QString name = fontMetrics().elidedText(fact.name, Qt::ElideRight, cell.width());
    painter.drawText(cell, Qt::AlignLeft | Qt::AlignTop, name);
    painter.setFont(value_font());
    painter.setPen(theme_.colors().text);
    const QString value = painter.fontMetrics().elidedText(fact.value, Qt::ElideRight, cell.width());
    painter.drawText(cell.adjusted(0, fontMetrics().height(), 0, 0), Qt::AlignLeft | Qt::AlignTop, value);
    elided |= name != fact.name || value != fact.value;
  }
  set_elided(*this, elided);
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
