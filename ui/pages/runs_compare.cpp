#include "ui/pages/runs_compare.h"

#include <QJsonDocument>
#include <QLabel>
#include <QMenu>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>

#include "core/history/history_store.h"
#include "ui/app_context.h"
#include "ui/charts/chart.h"
#include "ui/charts/chart_group.h"
#include "ui/pages/run_chart_board.h"
#include "ui/pages/run_export.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/follow.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr int kRefreshMs = 2000;  // of outcomes, while a run trains

std::vector<ChartSpec> specs() {
  std::vector<ChartSpec> specs = {
      metric_chart("loss", true, true),   metric_chart("eval_loss", true),
      metric_chart("tokens_per_s", true), metric_chart("memory_process", false),
      metric_chart("grad_norm", false),   metric_chart("lr", false),
      metric_chart("step_ms", false),     metric_chart("tokens_per_s_end_to_end", false)};
  for (ChartSpec& spec : specs) {
    spec.info.log_allowed = spec.info.quantity == Quantity::Plain;
    spec.info.from_zero = spec.info.quantity == Quantity::Bytes;
  }
  return specs;
}

}  // namespace

RunsCompare::RunsCompare(AppContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  colors_.restore(
      QJsonDocument::fromJson(context.preferences.value(QStringLiteral("runs/colors")).toByteArray())
          .object());
  board_ = new ChartBoard(context, QStringLiteral("runs/charts"), specs(), this);
  board_->group().set_parts_together(true);  // a run's validation sets go with it
  outcomes_ = new OutcomesModel(this);
  outcomes_->set_color_of([this](const QString& id) { return color_of(id); });
  settings_ = new SettingsDiffModel(this);
  outcomes_view_ = make_table(tr("Outcomes"), this);
  outcomes_view_->setModel(outcomes_);
  outcomes_view_->horizontalHeader()->setStretchLastSection(false);
  outcomes_view_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  outcomes_view_->horizontalHeader()->setSectionResizeMode(OutcomesModel::Run, QHeaderView::Stretch);
  outcomes_view_->setContextMenuPolicy(Qt::CustomContextMenu);
  settings_view_ = make_table(tr("Settings that differ"), this);
  settings_view_->setModel(settings_);
  note_ = make_muted({}, this);
  auto* outcomes_tab = new QWidget(this);
  auto* outcomes_layout = new QVBoxLayout(outcomes_tab);
  outcomes_layout->setContentsMargins(0, Theme::grid, 0, 0);
  outcomes_layout->addWidget(outcomes_view_, 1);
  outcomes_layout->addWidget(note_);
  board_->setContentsMargins(0, Theme::grid, 0, 0);
  tabs_ = new QTabWidget(this);
  tabs_->setDocumentMode(true);
  tabs_->addTab(board_, tr("Curves"));
  tabs_->addTab(outcomes_tab, tr("Outcomes"));
  tabs_->addTab(settings_view_, tr("Settings that differ"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(tabs_);

  refresh_ = new QTimer(this);
  refresh_->setInterval(kRefreshMs);
  connect(refresh_, &QTimer::timeout, this, &RunsCompare::compare);
  connect(board_, &ChartBoard::axis_changed, this, &RunsCompare::request_points);
  connect(board_, &ChartBoard::shown_changed, this, &RunsCompare::request_points);
  connect(board_, &ChartBoard::csv_wanted, this, [this](const QString& chart) {
    export_rows_dialog(context_, ids(), to_qt(table_name(lathe::metric(to_std(chart)).table)), this);
  });
  follow_theme(context.theme, this, [this] { restyle(); });
  connect(outcomes_view_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    const QString id = outcomes_->id_of(outcomes_view_->indexAt(at).row());
    if (id.isEmpty()) return;
    QMenu menu;
    menu.addAction(tr("Measure against this run"), this, [this, id] { Q_EMIT baseline_wanted(id); });
    menu.exec(outcomes_view_->viewport()->mapToGlobal(at));
  });
}

RunsCompare::~RunsCompare() = default;

QStringList RunsCompare::ids() const {
  QStringList ids;
  for (const ListedRun& run : runs_) ids << to_qt(run.id);
  return ids;
}

QColor RunsCompare::color_of(const QString& id) const {
  return context_.theme.colors().series[static_cast<size_t>(colors_.slot(id))];
}

void RunsCompare::set_runs(const std::vector<ListedRun>& runs) {
  const QStringList before = ids();
  const bool trained = std::ranges::any_of(runs_, [](const ListedRun& run) { return is_active(run.status); });
  runs_ = runs;
  const bool trains = std::ranges::any_of(runs_, [](const ListedRun& run) { return is_active(run.status); });
  trains ? refresh_->start() : refresh_->stop();
  if (ids() == before) {
    if (trained && !trains) compare();  // the last of it
    restyle();                          // names may have changed
    return;
  }
  colors_.assign(ids());
  context_.preferences.set_value(QStringLiteral("runs/colors"),
                                 QJsonDocument(colors_.state()).toJson(QJsonDocument::Compact));
  for (Chart* chart : board_->charts()) {
    for (const QString& key : chart->series_keys()) {
      if (!ids().contains(key.section(QLatin1Char('/'), 0, 0))) chart->remove_series(key);
    }
  }
  std::erase_if(feeds_, [&](const auto& feed) { return !ids().contains(feed.first); });
  for (const QString& id : ids()) {
    if (feeds_.contains(id)) continue;
    auto feed = std::make_unique<RunFeed>(context_.open_history, &thread_);
    connect(feed.get(), &RunFeed::delta, this, [this, id](const RunDeltaPtr& delta) { apply(id, *delta); });
    feed->request(request_for(id));
    feeds_[id] = std::move(feed);
  }
  restyle();
  compare();
}

RunRequest RunsCompare::request_for(const QString& id) const {
  RunRequest request;
  request.run = to_std(id);
  request.axis = board_->axis();
  request.smoothing = board_->group().smoothing();
  request.texts = false;
  for (const QString& chart : board_->shown()) request.metrics.push_back(to_std(chart));
  return request;
}

void RunsCompare::request_points() {
  for (const auto& [id, feed] : feeds_) feed->request(request_for(id));
}

void RunsCompare::apply(const QString& run, const RunDelta& delta) {
  if (delta.restart) {
    for (Chart* chart : board_->charts()) {
      for (const QString& key : chart->series_keys()) {
        if (key.section(QLatin1Char('/'), 0, 0) == run) chart->assign(key, PointColumns{});
      }
    }
  }
  for (const FeedPoints& points : delta.points) {
    Chart* chart = board_->chart(to_qt(points.metric));
    if (chart == nullptr) continue;
    const QString key = points.part.empty() ? run : run + QLatin1Char('/') + to_qt(points.part);
    const bool known = chart->series_keys().contains(key);
    if (!known && points.size() == 0) continue;
    if (!known) style_series(*chart, key);
    points.all ? chart->assign(key, points.all) : chart->append(key, points.more);
  }
}

void RunsCompare::restyle() {
  bool first = true;
  for (Chart* chart : board_->charts()) {
    chart->set_legend_visible(std::exchange(first, false));  // it holds for all of them
    chart->set_latest_visible(runs_.size() == 1);            // else: of which run?
    for (const QString& key : chart->series_keys()) style_series(*chart, key);
  }
}

void RunsCompare::style_series(Chart& chart, const QString& key) {
  const QString id = key.section(QLatin1Char('/'), 0, 0);
  const QString part = key.section(QLatin1Char('/'), 1);
  const auto run = std::ranges::find(runs_, to_std(id), &ListedRun::id);
  if (run == runs_.end()) return;
  const MetricInfo& info = lathe::metric(to_std(chart.info().key));
  SeriesStyle style;
  style.name = to_qt(run->name);
  if (!part.isEmpty() && part != QLatin1String("validation")) style.name += QStringLiteral(": ") + part;
  style.color = color_of(id);
  style.pen = RunColors::pen(colors_.slot(id));
  style.smoothed = info.smoothing > 0;
  style.markers = info.table == MetricTable::Evaluations;
  chart.set_series(key, style);
}

void RunsCompare::set_baseline(const QString& id) {
  if (id == baseline_) return;
  baseline_ = id;
  show_comparison();
}

void RunsCompare::set_active(bool active) {
  for (const auto& [id, feed] : feeds_) feed->set_active(active);
}

void RunsCompare::compare() {
  if (runs_.empty()) {
    comparison_ = {};
    show_comparison();
    return;
  }
  std::vector<std::string> wanted;
  for (const ListedRun& run : runs_) wanted.push_back(run.id);
  job_.run([open = context_.open_history, wanted] { return compare_runs(*open(), wanted); },
           [this](Comparison comparison) {
             comparison_ = std::move(comparison);
             show_comparison();
           },
           [this](const Error& error) { note_->setText(to_qt(std::string_view(error.what()))); });
}

void RunsCompare::show_comparison() {
  outcomes_->set_comparison(comparison_, baseline_);
  settings_->set_comparison(comparison_, baseline_);
  settings_view_->resizeColumnToContents(0);
  for (int column = 1; column < settings_->columnCount(); ++column)
    settings_view_->setColumnWidth(column, 160);
  if (comparison_.outcomes.size() < 2) {
    note_->setText(tr("Tick another run to compare."));
  } else {
    const auto seen = std::ranges::count_if(
        comparison_.outcomes, [](const RunOutcome& run) { return run.loss_at_equal_tokens.has_value(); });
    const QString who = seen == std::ssize(comparison_.outcomes) ? tr("which all of them have seen")
                                                                 : tr("among the runs that count tokens");
    note_->setText(tr("Loss is compared at %1 tokens, %2. The run pinned in the list is what the others are "
                      "measured against.")
                       .arg(count_text(comparison_.equal_tokens), who));
  }
}

}  // namespace lathe::ui
