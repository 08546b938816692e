#include "ui/charts/chart_group.h"

#include <QJsonArray>
#include <algorithm>
#include <cmath>

#include "ui/charts/chart.h"

namespace lathe::ui {

ChartGroup::ChartGroup(QObject* parent) : QObject(parent) {
  // Many series change in one flush; the range is looked at once behind them.
  update_.setSingleShot(true);
  update_.setInterval(0);
  connect(&update_, &QTimer::timeout, this, &ChartGroup::update_range);
}

void ChartGroup::add(Chart* chart) {
  charts_.push_back(chart);
  chart->set_axis(axis_);
  chart->set_colors(colors_);
  chart->set_smoothing(smoothing_);
  const auto log_y = log_y_of_.find(chart->info().key);
  chart->set_log_y(log_y == log_y_of_.end() ? log_y_ : log_y->second);
  chart->set_hidden_at_first([this](const QString& key) { return hidden_.contains(series_of(key)); });
  chart->set_clip_outliers(clip_);
  connect(chart, &QObject::destroyed, this, [this, chart] { std::erase(charts_, chart); });
  connect(chart, &Chart::data_changed, &update_, qOverload<>(&QTimer::start));
  connect(chart, &Chart::x_range_wanted, this, &ChartGroup::set_range);
  connect(chart, &Chart::reset_wanted, this, &ChartGroup::show_all);
  connect(chart, &Chart::cursor_moved, this, [this, chart](double x) { set_cursor(chart, x); });
  connect(chart, &Chart::toggled, this, &ChartGroup::set_hidden);
  connect(chart, &Chart::log_y_chosen, this, [this, chart](bool on) {
    log_y_of_[chart->info().key] = on;
    Q_EMIT settings_changed();
  });
  update_.start();
}

void ChartGroup::set_axis(const ChartAxis& axis) {
  axis_ = axis;
  range_.reset();
  for (Chart* chart : charts_) chart->set_axis(axis);
  update_.start();
}

void ChartGroup::set_colors(const ChartColors& colors) {
  colors_ = colors;
  for (Chart* chart : charts_) chart->set_colors(colors);
}

void ChartGroup::set_smoothing(double weight) {
  if (weight == smoothing_) return;
  smoothing_ = weight;
  for (Chart* chart : charts_) chart->set_smoothing(weight);
  Q_EMIT settings_changed();
}

void ChartGroup::set_log_y(bool on) {
  if (on == log_y_) return;
  log_y_ = on;
  log_y_of_.clear();
  for (Chart* chart : charts_) chart->set_log_y(on);
  Q_EMIT settings_changed();
}

void ChartGroup::set_clip_outliers(bool on) {
  if (on == clip_) return;
  clip_ = on;
  for (Chart* chart : charts_) chart->set_clip_outliers(on);
  Q_EMIT settings_changed();
}

void ChartGroup::set_follow(bool on) {
  if (on == follow_) return;
  follow_ = on;
  if (on && range_) {
    const double end = extent().second;
    set_range(end - (range_->second - range_->first), end);
  }
  Q_EMIT settings_changed();
}

std::pair<double, double> ChartGroup::extent() const {
  std::optional<std::pair<double, double>> all;
  for (const Chart* chart : charts_) {
    const auto one = chart->x_extent();
    if (!one) continue;
    if (!all) all = *one;
    all->first = std::min(all->first, one->first);
    all->second = std::max(all->second, one->second);
  }
  if (!all) return {0, 1};
  if (all->first == all->second) return {all->first - 0.5, all->second + 0.5};
  return *all;
}

void ChartGroup::set_range(double low, double high) {
  const auto [first, last] = extent();
  const double least = std::max((last - first) * 1e-7, 1e-6);
  if (!(high - low > least)) return;
  // Beyond everything there is nothing to see: the range stops at the ends with half of it still filled.
  const double span = high - low;
  if (low > last - span / 8) {
    low = last - span / 8;
    high = low + span;
  } else if (high < first + span / 8) {
    high = first + span / 8;
    low = high - span;
  }
  if (low <= first && high >= last && span >= 1.5 * (last - first)) {
    show_all();
    return;
  }
  range_ = {low, high};
  last_end_ = last;
  for (Chart* chart : charts_) chart->set_x_range(low, high);
  Q_EMIT range_changed();
}

void ChartGroup::show_all() {
  range_.reset();
  for (Chart* chart : charts_) chart->set_y_range(std::nullopt);
  update_range();
  Q_EMIT range_changed();
}

void ChartGroup::update_range() {
  update_.stop();
  const auto [first, last] = extent();
  if (!range_) {
    for (Chart* chart : charts_) chart->set_x_range(first, last);
  } else if (follow_ && last > last_end_) {
    const double shift = last - last_end_;
    // Only a range that held the end follows it: who looks at the past stays there.
    if (range_->second >= last_end_) {
      range_ = {range_->first + shift, range_->second + shift};
      for (Chart* chart : charts_) chart->set_x_range(range_->first, range_->second);
    }
  }
  last_end_ = last;
}

void ChartGroup::set_cursor(Chart* from, double x) {
  for (Chart* chart : charts_) chart->set_crosshair(x, chart == from || chart->x_extent().has_value());
}

void ChartGroup::set_hidden(const QString& series, bool hidden) {
  const QString one = series_of(series);
  hidden ? void(hidden_.insert(one)) : void(hidden_.erase(one));
  for (Chart* chart : charts_) {
    for (const QString& key : chart->series_keys()) {
      if (series_of(key) == one) chart->set_hidden(key, hidden);
    }
  }
  Q_EMIT settings_changed();
}

QString ChartGroup::series_of(const QString& key) const {
  return parts_together_ ? key.section(QLatin1Char('/'), 0, 0) : key;
}

QJsonObject ChartGroup::state() const {
  QJsonObject log_y_of;
  for (const auto& [chart, on] : log_y_of_) log_y_of[chart] = on;
  return {
      {QStringLiteral("smoothing"), smoothing_},
      {QStringLiteral("log_y"), log_y_},
      {QStringLiteral("log_y_of"), log_y_of},
      {QStringLiteral("clip"), clip_},
      {QStringLiteral("follow"), follow_},
      {QStringLiteral("hidden"), QJsonArray::fromStringList(QStringList(hidden_.begin(), hidden_.end()))}};
}

void ChartGroup::restore(const QJsonObject& state) {
  set_smoothing(std::clamp(state[QStringLiteral("smoothing")].toDouble(smoothing_), 0.0, 0.9999));
  set_log_y(state[QStringLiteral("log_y")].toBool(log_y_));
  const QJsonObject log_y_of = state[QStringLiteral("log_y_of")].toObject();
  for (auto it = log_y_of.begin(); it != log_y_of.end(); ++it) log_y_of_[it.key()] = it.value().toBool();
  for (Chart* chart : charts_) {
    const auto own = log_y_of_.find(chart->info().key);
    if (own != log_y_of_.end()) chart->set_log_y(own->second);
  }
  set_clip_outliers(state[QStringLiteral("clip")].toBool(clip_));
  set_follow(state[QStringLiteral("follow")].toBool(follow_));
  for (const QJsonValue& key : state[QStringLiteral("hidden")].toArray()) set_hidden(key.toString(), true);
}

}  // namespace lathe::ui
