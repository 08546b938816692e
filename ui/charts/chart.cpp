#include "ui/charts/chart.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/charts/chart_impl.h"
#include "ui/charts/curve_graph.h"
#include "ui/charts/tickers.h"

namespace lathe::ui {
namespace {

constexpr int kFrameMs = 16;
constexpr int kMovementMs = 80;
// Where painting is slow, so are the steps of a movement: as many charts are painted between two of them.
constexpr int kChartsAtOnce = 6;
constexpr int kRestMs = 150;

}  // namespace

Chart::Impl::Impl(Chart* owner, ChartInfo chart_info) : chart(owner), info(std::move(chart_info)) {
  title = new QLabel(info.title, chart);
  QFont bold = title->font();
  bold.setBold(true);
  title->setFont(bold);
  unit = new QLabel(
      info.unit == QLatin1String("bytes") || info.unit == QLatin1String("ms") ? QString() : info.unit, chart);
  latest = new QLabel(chart);
  for (QLabel* quiet : {unit, latest}) quiet->setForegroundRole(QPalette::PlaceholderText);
  latest->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  menu_button = new QToolButton(chart);
  menu_button->setObjectName(QStringLiteral("more"));
  menu_button->setText(QStringLiteral("⋯"));
  menu_button->setAutoRaise(true);
  menu_button->setPopupMode(QToolButton::InstantPopup);
  menu_button->setAccessibleName(Chart::tr("%1: more").arg(info.title));
  menu = new QMenu(menu_button);
  menu_button->setMenu(menu);
  menu->addAction(Chart::tr("Show all"), chart, &Chart::reset_wanted);
  if (info.log_allowed) {
    log_action = menu->addAction(Chart::tr("Logarithmic y axis"));
    log_action->setCheckable(true);
    QObject::connect(log_action, &QAction::triggered, chart, &Chart::log_y_chosen);
  }
  menu->addSeparator();
  menu->addAction(Chart::tr("Show as table…"), chart, &Chart::table_wanted);
  menu->addAction(Chart::tr("Export picture…"), chart, &Chart::picture_wanted);
  menu->addAction(Chart::tr("Export every row as CSV…"), chart, &Chart::csv_wanted);

  auto* header = new QHBoxLayout;
  header->setContentsMargins(8, 4, 4, 0);
  header->setSpacing(8);
  header->addWidget(title);
  header->addWidget(unit);
  header->addStretch();
  header->addWidget(latest);
  header->addWidget(menu_button);
  legend = new ChartLegend(chart);
  plot = new ChartPlot(chart);
  auto* layout = new QVBoxLayout(chart);
  layout->setContentsMargins(2, 2, 2, 4);  // room for the card's border
  layout->setSpacing(0);
  layout->addLayout(header);
  layout->addWidget(legend);
  layout->addWidget(plot, 1);
  legend->setContentsMargins(8, 0, 8, 0);

  plot->addLayer(QStringLiteral("crosshair"), plot->layer(QStringLiteral("axes")), QCustomPlot::limAbove);
  plot->layer(QStringLiteral("crosshair"))->setMode(QCPLayer::lmBuffered);
  crosshair = new CrosshairItem(plot);
  crosshair->setLayer(QStringLiteral("crosshair"));
  bad_marks = new BadMarksItem(plot);
  empty = new EmptyTextItem(plot);
  empty->text = Chart::tr("No values yet");
  plot->legend->setVisible(false);
  plot->axisRect()->setMinimumMargins(QMargins(64, 6, 14, 26));
  plot->axisRect()->setAutoMargins(QCP::msLeft | QCP::msBottom);
  plot->axisRect()->setMargins(QMargins(64, 6, 14, 26));
  set_tickers();

  frame.setSingleShot(true);
  frame.setInterval(kFrameMs);
  QObject::connect(&frame, &QTimer::timeout, chart, [this] { chart->paint_now(); });
  rest.setSingleShot(true);
  rest.setInterval(kRestMs);
  QObject::connect(&rest, &QTimer::timeout, chart, [this] {
    hurried = false;
    changed();
  });
}

ChartSeries* Chart::Impl::find(const QString& key) {
  const auto found = std::ranges::find_if(series, [&](const auto& one) { return one->key == key; });
  return found == series.end() ? nullptr : found->get();
}

ChartSeries& Chart::Impl::require(const QString& key) {
  if (ChartSeries* found = find(key)) return *found;
  chart->set_series(key, SeriesStyle{.name = key, .color = colors.text});
  return *series.back();
}

void Chart::Impl::changed() {
  dirty = true;
  if (chart->isVisible() && !frame.isActive()) frame.start();
}

void Chart::Impl::rebuild_legend() {
  std::vector<ChartLegend::Item> items;
  for (const auto& one : series) {
    items.push_back({one->key, one->style.name, one->style.color, one->style.pen, one->hidden});
  }
  legend->set_items(items);
  legend->setVisible(legend_wanted.value_or(series.size() > 1));
  chart->layout()->activate();
}

void Chart::Impl::set_tickers() {
  plot->xAxis->setTicker(QSharedPointer<QuantityTicker>::create(axis.quantity));
  if (log_y) {
    plot->yAxis->setScaleType(QCPAxis::stLogarithmic);
    plot->yAxis->setTicker(QSharedPointer<LogTicker>::create(info.quantity));
  } else {
    plot->yAxis->setScaleType(QCPAxis::stLinear);
    plot->yAxis->setTicker(QSharedPointer<QuantityTicker>::create(info.quantity));
  }
}

Chart::Chart(ChartInfo info, QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(info.title);
  const QString gestures =
      tr("Drag: zoom. Shift and drag: pan. Wheel: zoom. Double click: all of it. Keys: arrows, +, −, Home.");
  impl_ = std::make_unique<Impl>(this, std::move(info));
  impl_->title->setToolTip(impl_->info.definition + QStringLiteral("\n\n") + gestures);
  connect(impl_->legend, &ChartLegend::toggled, this, [this](const QString& key, bool hidden) {
    set_hidden(key, hidden);
    Q_EMIT toggled(key, hidden);
  });
  connect(this, &Chart::log_y_chosen, this, &Chart::set_log_y);
  connect(impl_->plot, &ChartPlot::x_range_wanted, this, &Chart::x_range_wanted);
  connect(impl_->plot, &ChartPlot::y_range_wanted, this, [this](double low, double high) {
    set_y_range(Range{low, high});
  });
  connect(impl_->plot, &ChartPlot::reset_wanted, this, &Chart::reset_wanted);
  connect(impl_->plot, &ChartPlot::cursor_moved, this, &Chart::cursor_moved);
  connect(impl_->plot, &ChartPlot::drag_ended, this, [this] { impl_->changed(); });
  set_colors({});
}

Chart::~Chart() = default;

const ChartInfo& Chart::info() const {
  return impl_->info;
}

void Chart::set_series(const QString& key, const SeriesStyle& style) {
  ChartSeries* series = impl_->find(key);
  if (series == nullptr) {
    impl_->series.push_back(std::make_unique<ChartSeries>());
    series = impl_->series.back().get();
    series->key = key;
    series->hidden = impl_->hidden_at_first && impl_->hidden_at_first(key);
    series->raw = new CurveGraph(impl_->plot->xAxis, impl_->plot->yAxis);
    series->smooth = new CurveGraph(impl_->plot->xAxis, impl_->plot->yAxis);
    series->raw->setAdaptiveSampling(false);  // decimated already
    series->smooth->setAdaptiveSampling(false);
  }
  series->style = style;
  impl_->restyle(*series);
  impl_->legend_dirty = true;
  impl_->changed();
}

void Chart::remove_series(const QString& key) {
  ChartSeries* series = impl_->find(key);
  if (series == nullptr) return;
  impl_->plot->removeGraph(series->raw);
  impl_->plot->removeGraph(series->smooth);
  std::erase_if(impl_->series, [&](const auto& one) { return one.get() == series; });
  impl_->legend_dirty = true;
  impl_->changed();
  Q_EMIT data_changed();
}

void Chart::clear() {
  impl_->plot->clearGraphs();
  impl_->series.clear();
  impl_->manual_y.reset();
  impl_->legend_dirty = true;
  impl_->changed();
  Q_EMIT data_changed();
}

void Chart::assign(const QString& key, PointColumns points) {
  auto data = std::make_shared<SeriesData>();
  data->assign(std::move(points));
  assign(key, std::move(data));
}

void Chart::assign(const QString& key, std::shared_ptr<SeriesData> data) {
  ChartSeries& series = impl_->require(key);
  series.data = std::move(data);
  series.data->set_smoothing(impl_->weight(series));
  impl_->changed();
  Q_EMIT data_changed();
}

void Chart::append(const QString& key, const PointColumns& points) {
  if (points.size() == 0) return;
  impl_->require(key).data->append(points);
  impl_->changed();
  Q_EMIT data_changed();
}

QStringList Chart::series_keys() const {
  QStringList keys;
  for (const auto& one : impl_->series) keys << one->key;
  return keys;
}

const SeriesStyle& Chart::style(const QString& key) const {
  return impl_->require(key).style;
}

const SeriesData& Chart::data(const QString& key) const {
  return *impl_->require(key).data;
}

bool Chart::is_hidden(const QString& key) const {
  const ChartSeries* series = impl_->find(key);
  return series != nullptr && series->hidden;
}

void Chart::set_hidden(const QString& key, bool hidden) {
  ChartSeries* series = impl_->find(key);
  if (series == nullptr || series->hidden == hidden) return;
  series->hidden = hidden;
  impl_->legend_dirty = true;
  impl_->changed();
  Q_EMIT data_changed();
}

void Chart::set_hidden_at_first(std::function<bool(const QString&)> hidden) {
  impl_->hidden_at_first = std::move(hidden);
}

void Chart::set_colors(const ChartColors& colors) {
  impl_->colors = colors;
  impl_->restyle_all();
  impl_->changed();
}

void Chart::set_axis(const ChartAxis& axis) {
  impl_->axis = axis;
  impl_->set_tickers();
  impl_->changed();
}

void Chart::set_smoothing(double weight) {
  impl_->smoothing = weight;
  for (const auto& one : impl_->series) impl_->restyle(*one);
  impl_->changed();
}

void Chart::set_log_y(bool on) {
  on = on && impl_->info.log_allowed;
  if (impl_->log_action != nullptr) impl_->log_action->setChecked(on);
  if (on == impl_->log_y) return;
  impl_->log_y = on;
  impl_->manual_y.reset();
  impl_->set_tickers();
  impl_->changed();
}

bool Chart::log_y() const {
  return impl_->log_y;
}

void Chart::set_clip_outliers(bool on) {
  impl_->clip = on;
  impl_->changed();
}

void Chart::set_legend_visible(bool on) {
  impl_->legend_wanted = on;
  impl_->legend->setVisible(on);
}

void Chart::set_latest_visible(bool on) {
  impl_->latest_shown = on;
  impl_->changed();
}

void Chart::set_empty_text(const QString& text) {
  impl_->empty->text = text;
  impl_->changed();
}

void Chart::set_wheel_needs_focus(bool on) {
  impl_->plot->set_wheel_needs_focus(on);
}

QMenu* Chart::menu() const {
  return impl_->menu;
}

std::optional<Chart::Range> Chart::x_extent() const {
  std::optional<Range> extent;
  for (const auto& one : impl_->series) {
    if (one->hidden || one->data->empty()) continue;
    const Range range{one->data->x(0), one->data->x(one->data->size() - 1)};
    if (!extent) extent = range;
    extent->first = std::min(extent->first, range.first);
    extent->second = std::max(extent->second, range.second);
  }
  return extent;
}

Chart::Range Chart::x_range() const {
  const QCPRange range = impl_->plot->xAxis->range();
  return {range.lower, range.upper};
}

void Chart::set_x_range(double low, double high) {
  if (!(low < high)) return;
  if (impl_->plot->xAxis->range() == QCPRange(low, high)) return;
  impl_->plot->xAxis->setRange(low, high);
  if (impl_->since_range.isValid() &&
      impl_->since_range.elapsed() < kMovementMs + kChartsAtOnce * impl_->paint_ms) {
    impl_->hurried = true;
    impl_->rest.start();
  }
  impl_->since_range.start();
  impl_->changed();
}

void Chart::set_y_range(std::optional<Range> range) {
  impl_->manual_y = range;
  impl_->changed();
}

Chart::Range Chart::y_range() const {
  const QCPRange range = impl_->plot->yAxis->range();
  return {range.lower, range.upper};
}

void Chart::set_crosshair(double x, bool readout) {
  impl_->crosshair_x = x;
  impl_->crosshair_readout = readout;
  if (isVisible()) impl_->paint_crosshair();
}

void Chart::paint_now() {
  impl_->frame.stop();
  impl_->dirty = false;
  impl_->paint();
}

QSize Chart::sizeHint() const {
  return {420, 240};
}

QSize Chart::minimumSizeHint() const {
  return {240, 160};
}

void Chart::keyPressEvent(QKeyEvent* event) {
  const auto [low, high] = x_range();
  const double span = high - low;
  switch (event->key()) {
    case Qt::Key_Left:
      Q_EMIT x_range_wanted(low - span / 8, high - span / 8);
      return;
    case Qt::Key_Right:
      Q_EMIT x_range_wanted(low + span / 8, high + span / 8);
      return;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      Q_EMIT x_range_wanted(low + span / 8, high - span / 8);
      return;
    case Qt::Key_Minus:
      Q_EMIT x_range_wanted(low - span / 8, high + span / 8);
      return;
    case Qt::Key_Home:
      Q_EMIT reset_wanted();
      return;
    case Qt::Key_L:
      if (impl_->info.log_allowed) Q_EMIT log_y_chosen(!log_y());
      return;
    case Qt::Key_T:
      Q_EMIT table_wanted();
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void Chart::mousePressEvent(QMouseEvent*) {
  setFocus(Qt::MouseFocusReason);
}

void Chart::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (impl_->dirty) impl_->changed();
}

void Chart::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  impl_->changed();
}

void Chart::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  impl_->restyle_all();
  impl_->changed();
}

void Chart::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  impl_->restyle_all();
  impl_->changed();
}

}  // namespace lathe::ui
