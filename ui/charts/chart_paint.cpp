// How a chart turns its series into pixels: decimation, y range, styles, pictures, and the same in words.
#include <QPaintDevice>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/charts/chart_impl.h"

namespace lathe::ui {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// QCPGraph takes QVector; a view's arrays are small.
QVector<double> vector_of(const std::vector<double>& values) {
  return QVector<double>(values.begin(), values.end());
}

// On a logarithmic axis what isn't positive has no place.
void drop_non_positive(Polyline& line) {
  for (double& y : line.y) {
    if (!(y > 0)) y = kNan;
  }
}

}  // namespace

double Chart::Impl::weight(const ChartSeries& one) const {
  return one.style.smoothed ? smoothing : 0;
}

void Chart::Impl::restyle(ChartSeries& one) {
  const bool smoothed = weight(one) > 0;
  one.data->set_smoothing(weight(one));
  QColor faint = one.style.color;
  if (smoothed) faint.setAlpha(colors.dark ? 90 : 75);
  // Raw curves stay at pen width 1, which the rasteriser draws many times faster than any other.
  one.raw->setPen(QPen(faint, 1, smoothed ? Qt::SolidLine : one.style.pen));
  one.raw->setAntialiased(false);
  one.smooth->setPen(QPen(one.style.color, 2, one.style.pen, Qt::RoundCap, Qt::RoundJoin));
  if (one.style.markers) {
    one.raw->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(colors.background, 1.2), QBrush(one.style.color), 8));
    one.raw->setPen(QPen(one.style.color, 1.5, one.style.pen));
    one.raw->setAntialiased(true);
  } else {
    one.raw->setScatterStyle(QCPScatterStyle::ssNone);
  }
  QCPGraph* named = smoothed ? one.smooth : one.raw;
  QCPGraph* other = smoothed ? one.raw : one.smooth;
  other->removeFromLegend();
  named->setName(one.style.name);
  named->addToLegend();
}

void Chart::Impl::restyle_all() {
  const QPen grid(colors.grid, 1);
  plot->setBackground(QBrush(colors.background));
  for (QCPAxis* one : {plot->xAxis, plot->yAxis}) {
    one->setBasePen(QPen(chart->hasFocus() ? colors.text : colors.grid, 1));
    one->setTickPen(Qt::NoPen);
    one->setSubTickPen(Qt::NoPen);
    one->setTickLabelColor(colors.muted);
    one->setLabelColor(colors.muted);
    one->grid()->setPen(grid);
    one->grid()->setZeroLinePen(grid);
    one->setTickLabelFont(chart->font());
    one->setLabelFont(chart->font());
  }
  plot->xAxis->grid()->setVisible(false);
  plot->selectionRect()->setPen(QPen(colors.muted, 1, Qt::DashLine));
  QColor box = colors.muted;
  box.setAlpha(40);
  plot->selectionRect()->setBrush(box);
  crosshair->colors = colors;
  bad_marks->color = colors.alert;
  empty->color = colors.muted;
  plot->legend->setBrush(colors.background);
  plot->legend->setBorderPen(QPen(colors.grid, 1));
  plot->legend->setTextColor(colors.text);
  for (const auto& one : series) restyle(*one);
}

void Chart::Impl::decimate(int columns, int smooth_columns) {
  const QCPRange range = plot->xAxis->range();
  bad_marks->x.clear();
  bool any = false, anywhere = false;
  for (const auto& one : series) {
    one->raw->setVisible(!one->hidden);
    one->smooth->setVisible(!one->hidden);
    if (one->hidden) continue;
    one->data->view(range.lower, range.upper, columns, one->view, smooth_columns);
    any = any || !one->view.raw.x.empty();
    anywhere = anywhere || !one->data->empty();
    if (log_y) {
      drop_non_positive(one->view.raw);
      drop_non_positive(one->view.smooth);
    }
    one->raw->setData(vector_of(one->view.raw.x), vector_of(one->view.raw.y), true);
    one->smooth->setData(vector_of(one->view.smooth.x), vector_of(one->view.smooth.y), true);
    bad_marks->x.insert(bad_marks->x.end(), one->view.bad.begin(), one->view.bad.end());
  }
  std::ranges::sort(bad_marks->x);
  empty->setVisible(!any);
  // Without values the axes have no scale to tell of.
  plot->xAxis->setTickLabels(anywhere);
  plot->yAxis->setTickLabels(any);
  plot->yAxis->grid()->setVisible(any);
}

void Chart::Impl::fit_y() {
  if (manual_y) {
    plot->yAxis->setRange(manual_y->first, manual_y->second);
    return;
  }
  std::vector<double> raw;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto include = [&](double y) {
    if (!std::isfinite(y)) return;
    low = std::min(low, y);
    high = std::max(high, y);
  };
  for (const auto& one : series) {
    if (one->hidden) continue;
    for (const double y : one->view.smooth.y) include(y);
    for (const double y : one->view.raw.y) {
      if (clip && !one->style.markers && std::isfinite(y)) {
        raw.push_back(y);
      } else {
        include(y);
      }
    }
  }
  if (!raw.empty()) {
    const auto quantile = [&](double fraction) {
      const auto nth =
          raw.begin() + static_cast<std::ptrdiff_t>(fraction * static_cast<double>(raw.size() - 1));
      std::ranges::nth_element(raw, nth);
      return *nth;
    };
    include(quantile(0.01));
    include(quantile(0.99));
  }
  if (!(low <= high)) {
    plot->yAxis->setRange(log_y ? 0.1 : 0, 1);
    return;
  }
  if (log_y) {
    const double margin = high > low ? std::pow(high / low, 0.06) : 1.5;
    plot->yAxis->setRange(low / margin, high * margin);
    return;
  }
  if (info.from_zero) low = std::min(low, 0.0);
  double margin = (high - low) * 0.06;
  if (margin == 0) margin = high == 0 ? 1 : std::abs(high) * 0.05;
  plot->yAxis->setRange(info.from_zero && low == 0 ? 0 : low - margin, high + margin);
}

void Chart::Impl::paint() {
  QElapsedTimer time;
  time.start();
  if (std::exchange(legend_dirty, false)) rebuild_legend();
  plot->xAxis->ticker()->setTickCount(std::clamp(plot->axisRect()->width() / 110, 2, 10));
  plot->yAxis->ticker()->setTickCount(std::clamp(plot->axisRect()->height() / 36, 2, 8));
  const bool quick = plot->dragging() || hurried;
  const int pixels = std::max(2, plot->axisRect()->width());
  decimate(quick ? pixels / 2 : pixels, pixels / 2);
  fit_y();
  plot->setNotAntialiasedElements(quick ? QCP::aeAll : QCP::aeNone);
  for (const auto& one : series) {
    QPen pen = one->smooth->pen();
    pen.setWidth(quick ? 1 : 2);  // one pixel is drawn many times faster than any other width
    one->smooth->setPen(pen);
  }
  update_title();
  describe();
  paint_crosshair();
  plot->replot(QCustomPlot::rpQueuedRefresh);
  paint_ms = time.elapsed();
}

void Chart::Impl::update_title() {
  // Of the curve the chart is named after: the first in sight, where they aren't runs side by side.
  QString text;
  const auto first =
      std::ranges::find_if(series, [](const auto& one) { return !one->hidden && !one->data->empty(); });
  if (first != series.end() && latest_shown) {
    const SeriesData& data = *(*first)->data;
    text = quantity_text(data.y(data.size() - 1), info.quantity, info.unit);
  }
  latest->setText(text);
}

void Chart::Impl::describe() {
  if (described.isValid() && described.elapsed() < 1000) return;
  described.start();
  chart->setAccessibleDescription(chart->summary());
}

void Chart::Impl::paint_crosshair() {
  constexpr size_t most_lines = 12;
  crosshair->x = crosshair_x;
  crosshair->with_readout = crosshair_readout;
  crosshair->lines.clear();
  if (!std::isnan(crosshair_x)) {
    crosshair->heading =
        axis.label + QLatin1Char(' ') + quantity_text(std::round(crosshair_x), axis.quantity);
    for (const auto& one : series) {
      const auto index = one->data->nearest(crosshair_x);
      if (one->hidden || !index || crosshair->lines.size() == most_lines) continue;
      const double smooth = one->data->smooth(*index), raw = one->data->y(*index);
      QString value = quantity_text(smooth, info.quantity);
      if (one->data->is_smoothed()) value += QStringLiteral("  (%1)").arg(quantity_text(raw, info.quantity));
      crosshair->lines.push_back({one->style.name, value, one->style.color, one->data->x(*index), smooth});
    }
  }
  plot->layer(QStringLiteral("crosshair"))->replot();
}

QString Chart::summary() const {
  const Impl& chart = *impl_;
  QStringList sentences;
  for (const auto& one : chart.series) {
    const SeriesData& data = *one->data;
    if (data.empty()) {
      sentences << tr("%1: no values.").arg(one->style.name);
      continue;
    }
    const auto value = [&](double y) { return quantity_text(y, chart.info.quantity, chart.info.unit); };
    const auto place = [&](size_t i) { return quantity_text(data.x(i), chart.axis.quantity); };
    QString sentence =
        tr("%1: %2 points, %3 %4 to %5; last %6, lowest %7, highest %8.")
            .arg(one->style.name, quantity_text(static_cast<double>(data.size()), Quantity::Count),
                 chart.axis.label, place(0), place(data.size() - 1), value(data.y(data.size() - 1)),
                 value(data.minimum()), value(data.maximum()));
    if (data.bad_count() > 0) {
      sentence += tr(" Points with NaN or infinity: %1.").arg(data.bad_count());
    }
    sentences << sentence;
  }
  if (sentences.empty()) sentences << impl_->empty->text + QLatin1Char('.');
  return chart.info.title + QStringLiteral(". ") + sentences.join(QLatin1Char(' '));
}

class Chart::Impl::Dressed {
 public:
  Dressed(Impl& impl, const QSize& size, double scale) : impl_(impl) {
    QCustomPlot* plot = impl_.plot;
    QString text = impl_.info.title;
    if (!impl_.unit->text().isEmpty()) text += QStringLiteral(" (%1)").arg(impl_.info.unit);
    plot->plotLayout()->insertRow(0);
    QFont font = impl_.chart->font();
    font.setBold(true);
    auto* title = new QCPTextElement(plot, text, font);
    title->setTextColor(impl_.colors.text);
    plot->plotLayout()->addElement(0, 0, title);
    plot->xAxis->setLabel(impl_.axis.label);
    plot->legend->setVisible(impl_.series.size() > 1);
    impl_.crosshair->setVisible(false);
    impl_.decimate(std::max(1, static_cast<int>(size.width() * scale)), std::max(1, size.width()));
    impl_.fit_y();
    // Stroking a dense curve with a pen that scales to several pixels takes seconds; one device pixel fills a
    // dense band just as well.
    constexpr size_t dense = 400;
    for (const auto& one : impl_.series) {
      if (one->view.raw.x.size() <= dense) continue;
      QPen pen = one->raw->pen();
      pen.setCosmetic(true);
      one->raw->setPen(pen);
    }
  }
  ~Dressed() {
    QCustomPlot* plot = impl_.plot;
    plot->plotLayout()->remove(plot->plotLayout()->element(0, 0));
    plot->plotLayout()->simplify();
    plot->xAxis->setLabel({});
    for (const auto& one : impl_.series) impl_.restyle(*one);
    plot->legend->setVisible(false);
    impl_.crosshair->setVisible(true);
    impl_.changed();
  }
  Dressed(const Dressed&) = delete;
  Dressed& operator=(const Dressed&) = delete;

 private:
  Impl& impl_;
};

QImage Chart::picture(const QSize& size, double scale) {
  const Impl::Dressed dressed(*impl_, size, scale);
  return impl_->plot->toPixmap(size.width(), size.height(), scale).toImage();
}

void Chart::paint_picture(QPaintDevice& device, const QSize& size) {
  const Impl::Dressed dressed(*impl_, size, 2);
  QCPPainter vectors(&device);
  vectors.setMode(QCPPainter::pmVectorized);
  vectors.setMode(QCPPainter::pmNoCaching);
  impl_->plot->toPainter(&vectors, size.width(), size.height());
}

}  // namespace lathe::ui
