#include "ui/pages/data_histogram.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/text.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

LengthBars::LengthBars(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setAccessibleName(tr("Documents by length"));
  connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void LengthBars::show_lengths(const LengthHistogram& lengths) {
  lengths_ = lengths;
  const auto found = std::ranges::find_if(lengths_.bins, [](int64_t count) { return count > 0; });
  first_ = found == lengths_.bins.end() ? 0 : static_cast<int>(found - lengths_.bins.begin());
  QStringList parts;
  for (size_t i = static_cast<size_t>(first_); i < lengths_.bins.size(); ++i) {
    parts << tr("%1 of %2 tokens or more").arg(count_text(lengths_.bins[i]), count_text(int64_t{1} << i));
  }
  setAccessibleDescription(parts.join(QStringLiteral(", ")));
  update();
}

QRectF LengthBars::plot_area() const {
  return QRectF(0, 4, width(), height() - fontMetrics().height() - 8.0);
}

int LengthBars::bin_at(double x) const {
  const auto bins = static_cast<int>(lengths_.bins.size()) - first_;
  const int bin = bins > 0 ? static_cast<int>(x / (plot_area().width() / bins)) : -1;
  return bin >= 0 && bin < bins ? bin + first_ : -1;
}

void LengthBars::paintEvent(QPaintEvent*) {
  const auto bins = static_cast<int>(lengths_.bins.size()) - first_;
  if (bins <= 0) return;
  const Colors& colors = theme_.colors();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF area = plot_area();
  const double step = area.width() / bins;
  const auto most = static_cast<double>(std::max<int64_t>(1, *std::ranges::max_element(lengths_.bins)));
  const double label_width = fontMetrics().horizontalAdvance(QStringLiteral("9.99M")) + 8.0;
  const int every = std::max(1, static_cast<int>(std::ceil(label_width / step)));
  for (int i = 0; i < bins; ++i) {
    const int64_t count = lengths_.bins[static_cast<size_t>(first_ + i)];
    const double tall = count > 0 ? std::max(2.0, area.height() * static_cast<double>(count) / most) : 0;
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors.series[0]);
    painter.drawRoundedRect(
        QRectF(area.left() + i * step + 1, area.bottom() - tall, std::max(1.0, step - 2), tall), 2, 2);
    if (i % every == 0) {
      painter.setPen(colors.muted);
      painter.drawText(
          QRectF(area.left() + i * step, area.bottom() + 2, label_width * 2, fontMetrics().height() + 2.0),
          Qt::AlignLeft, short_count_text(static_cast<double>(int64_t{1} << (first_ + i))));
    }
  }
  painter.setPen(QPen(colors.border, 1));
  painter.drawLine(area.bottomLeft(), area.bottomRight());
}

bool LengthBars::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int bin = bin_at(help->pos().x());
    if (bin >= 0) {
      QToolTip::showText(help->globalPos(),
                         tr("%1 documents of %2 to %3 tokens")
                             .arg(count_text(lengths_.bins[static_cast<size_t>(bin)]),
                                  count_text(int64_t{1} << bin), count_text((int64_t{2} << bin) - 1)),
                         this);
      return true;
    }
  }
  return QWidget::event(event);
}

}  // namespace lathe::ui
