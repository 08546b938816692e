#include "ui/pages/run_charts.h"

#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <utility>

#include "ui/app_context.h"
#include "ui/charts/chart.h"
#include "ui/charts/chart_group.h"
#include "ui/pages/run_chart_board.h"
#include "ui/text.h"
#include "ui/theme/follow.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

// The charts of a run. The first metric gives unit and definition.
struct Plan {
  const char* key;
  const char* title;
  bool shown, wide, log;
  std::vector<std::string> metrics;
};

const std::vector<Plan>& plans() {
  static const std::vector<Plan> all = {
      {"loss", QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Loss"), true, true, true, {"loss", "eval_loss"}},
      {"speed",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Tokens/s"),
       true,
       false,
       false,
       {"tokens_per_s", "tokens_per_s_end_to_end"}},
      {"memory",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Memory"),
       true,
       false,
       false,
       {"memory_process", "memory_planned", "memory_device_others", "memory_device_total"}},
      {"lr", QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Learning rate"), false, false, true, {"lr"}},
      {"grad_norm",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Gradient norm"),
       false,
       false,
       true,
       {"grad_norm"}},
      {"clip_factor",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Clip factor"),
       false,
       false,
       false,
       {"clip_factor"}},
      {"time",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Where the time goes"),
       false,
       false,
       true,
       {"step_ms", "forward_backward_ms", "update_ms", "data_wait_ms"}},
      {"weights",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Weight norms"),
       false,
       false,
       true,
       {"group_weight_norm"}},
      {"group_gradients",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Gradient norms by group"),
       false,
       false,
       true,
       {"group_grad_norm"}},
      {"updates",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Update ratios"),
       false,
       false,
       true,
       {"group_update_ratio"}},
      {"utilisation",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "GPU utilisation"),
       false,
       false,
       false,
       {"gpu_utilisation"}},
      {"temperature",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "GPU temperature"),
       false,
       false,
       false,
       {"gpu_temperature"}},
      {"power", QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "GPU power"), false, false, false, {"gpu_power"}},
      {"clocks",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "GPU clocks"),
       false,
       false,
       false,
       {"gpu_sm_clock", "gpu_memory_clock"}},
      {"host",
       QT_TRANSLATE_NOOP("lathe::ui::RunCharts", "Host memory"),
       false,
       false,
       false,
       {"host_memory_process", "host_memory_available"}},
  };
  return all;
}

std::vector<ChartSpec> specs() {
  std::vector<ChartSpec> specs;
  for (const Plan& plan : plans()) {
    ChartSpec spec = metric_chart(plan.metrics.front(), plan.shown, plan.wide);
    spec.info.key = QString::fromLatin1(plan.key);
    spec.info.title = RunCharts::tr(plan.title);
    spec.info.log_allowed = plan.log;
    spec.info.from_zero = spec.info.quantity == Quantity::Bytes || spec.info.unit == QLatin1String("%");
    QStringList definitions;
    for (const std::string& key : plan.metrics) {
      const MetricInfo& info = metric(key);
      definitions << QStringLiteral("%1: %2").arg(to_qt(info.label), to_qt(info.definition));
    }
    spec.info.definition = definitions.join(QLatin1Char('\n'));
    specs.push_back(std::move(spec));
  }
  return specs;
}

// Chart and place within it of a metric; the place chooses the colour.
struct Place {
  const Plan* plan;
  size_t index;
};

std::optional<Place> place_of(const std::string& metric) {
  for (const Plan& plan : plans()) {
    const auto found = std::ranges::find(plan.metrics, metric);
    if (found != plan.metrics.end()) return Place{&plan, static_cast<size_t>(found - plan.metrics.begin())};
  }
  return std::nullopt;
}

}  // namespace

RunCharts::RunCharts(AppContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  board_ = new ChartBoard(context, QStringLiteral("run/charts"), specs(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(board_);
  connect(board_, &ChartBoard::axis_changed, this, &RunCharts::request_changed);
  connect(board_, &ChartBoard::shown_changed, this, &RunCharts::request_changed);
  connect(board_, &ChartBoard::csv_wanted, this, [this](const QString& chart) {
    for (const Plan& plan : plans()) {
      if (chart == QLatin1String(plan.key)) {
        Q_EMIT rows_wanted(to_qt(table_name(lathe::metric(plan.metrics.front()).table)));
      }
    }
  });
  follow_theme(context.theme, this, [this] { restyle(); });
}

std::vector<std::string> RunCharts::metrics() const {
  std::vector<std::string> keys;
  for (const Plan& plan : plans()) {
    if (board_->chart(QString::fromLatin1(plan.key)) == nullptr) continue;
    keys.insert(keys.end(), plan.metrics.begin(), plan.metrics.end());
  }
  return keys;
}

Axis RunCharts::axis() const {
  return board_->axis();
}

double RunCharts::smoothing() const {
  return board_->group().smoothing();
}

void RunCharts::clear() {
  board_->clear();
}

void RunCharts::apply(const RunDelta& delta) {
  // Series that come again are replaced in place; only those that don't come again go.
  if (delta.restart) board_->clear();
  for (const FeedPoints& points : delta.points) apply_points(points);
  if (delta.details) active_ = is_active(delta.details->status);
  if (delta.restart) complete_ = false;
  complete_ = complete_ || delta.complete;
  const QString empty = complete_ && !active_ ? tr("Not recorded") : tr("No values yet");
  if (empty == std::exchange(empty_, empty)) return;
  for (Chart* chart : board_->charts()) chart->set_empty_text(empty);
}

void RunCharts::apply_points(const FeedPoints& points) {
  const auto place = place_of(points.metric);
  Chart* chart = place ? board_->chart(QString::fromLatin1(place->plan->key)) : nullptr;
  if (chart == nullptr) return;
  const QString key = to_qt(points.metric + (points.part.empty() ? "" : "/" + points.part));
  if (!chart->series_keys().contains(key)) {
    if (points.size() == 0) return;  // not measured in this run: no entry in the legend either
    const MetricInfo& info = lathe::metric(points.metric);
    SeriesStyle style;
    style.name = to_qt(info.label);
    if (!points.part.empty()) {
      style.name = info.table == MetricTable::Groups
                       ? to_qt(points.part)
                       : QStringLiteral("%1: %2").arg(style.name, to_qt(points.part));
    }
    style.smoothed = info.smoothing > 0;
    style.markers = info.table == MetricTable::Evaluations;
    const size_t slot = points.part.empty() ? place->index : static_cast<size_t>(chart->series_keys().size());
    style.color = context_.theme.colors().series[slot % context_.theme.colors().series.size()];
    chart->setProperty(to_std(QStringLiteral("slot/") + key).c_str(), static_cast<int>(slot));
    chart->set_series(key, style);
  }
  points.all ? chart->assign(key, points.all) : chart->append(key, points.more);
}

void RunCharts::restyle() {
  const auto& series = context_.theme.colors().series;
  for (Chart* chart : board_->charts()) {
    for (const QString& key : chart->series_keys()) {
      SeriesStyle style = chart->style(key);
      const int slot = chart->property(to_std(QStringLiteral("slot/") + key).c_str()).toInt();
      style.color = series[static_cast<size_t>(slot) % series.size()];
      chart->set_series(key, style);
    }
  }
}

}  // namespace lathe::ui
