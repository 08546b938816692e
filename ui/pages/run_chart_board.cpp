#include "ui/pages/run_chart_board.h"

#include <QGridLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/app_context.h"
#include "ui/charts/chart.h"
#include "ui/charts/chart_group.h"
#include "ui/charts/chart_table.h"
#include "ui/charts/chart_toolbar.h"
#include "ui/pages/run_export.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/follow.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

constexpr int kTwoColumnsFrom = 680;  // pixels
constexpr int kRowHeight = 176;

ChartAxis chart_axis(Axis axis) {
  const AxisInfo& info = axis_info(axis);
  return {to_qt(info.label),
          axis == Axis::WallTime ? Quantity::WallTime : quantity_of_unit(to_qt(info.unit))};
}

}  // namespace

ChartColors chart_colors(const AppContext& context) {
  const Colors& colors = context.theme.colors();
  return {colors.surface, colors.text, colors.muted, colors.border, colors.bad, context.theme.dark()};
}

ChartSpec metric_chart(const std::string& key, bool shown, bool wide) {
  const MetricInfo& info = metric(key);
  ChartSpec spec{{to_qt(info.key), to_qt(info.label), to_qt(info.unit), to_qt(info.definition)}, shown, wide};
  spec.info.quantity = quantity_of_unit(spec.info.unit);
  return spec;
}

ChartBoard::ChartBoard(AppContext& context, const QString& state_key, std::vector<ChartSpec> specs,
                       QWidget* parent)
    : QWidget(parent), context_(context), state_key_(state_key), specs_(std::move(specs)) {
  group_ = new ChartGroup(this);
  toolbar_ = new ChartToolbar(group_, this);
  for (const AxisInfo& info : axes()) toolbar_->add_axis(to_qt(info.key), to_qt(info.label));
  auto* choose = new QToolButton(this);
  choose->setText(tr("Charts ▾"));
  choose->setAccessibleName(tr("Charts shown"));
  choose->setToolTip(tr("Choose which charts are shown, and export them"));
  choose->setPopupMode(QToolButton::InstantPopup);
  menu_ = new QMenu(choose);
  choose->setMenu(menu_);
  toolbar_->add_widget(choose);

  scroll_ = new QScrollArea(this);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setWidgetResizable(true);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  board_ = new QWidget;
  grid_ = new QGridLayout(board_);
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setSpacing(Theme::grid);
  scroll_->setWidget(board_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  layout->addWidget(toolbar_);
  layout->addWidget(scroll_, 1);

  restoring_ = true;
  const QJsonObject state =
      QJsonDocument::fromJson(context_.preferences.value(state_key_).toByteArray()).object();
  if (const QJsonValue chosen = state[QStringLiteral("charts")]; chosen.isArray()) {
    const QJsonArray keys = chosen.toArray();
    for (ChartSpec& spec : specs_) spec.shown = keys.contains(QJsonValue(spec.info.key));
  }
  if (const QString axis = state[QStringLiteral("axis")].toString(); !axis.isEmpty())
    toolbar_->set_axis(axis);
  charts_.resize(specs_.size());
  make_charts();
  group_->restore(state);
  apply_axis();
  apply_theme();
  restoring_ = false;

  for (const ChartSpec& spec : specs_) {
    QAction* action = menu_->addAction(spec.info.title);
    action->setCheckable(true);
    action->setChecked(spec.shown);
    action->setToolTip(spec.info.definition);
    connect(action, &QAction::toggled, this, [this, key = spec.info.key](bool on) {
      for (ChartSpec& one : specs_) {
        if (one.info.key == key) one.shown = on;
      }
      make_charts();
      save_state();
      Q_EMIT shown_changed();
    });
  }
  menu_->setToolTipsVisible(true);
  menu_->addSeparator();
  menu_->addAction(tr("Export all as a picture…"), this, [this] { export_pictures(nullptr); });
  connect(toolbar_, &ChartToolbar::axis_chosen, this, [this] {
    apply_axis();
    save_state();
    Q_EMIT axis_changed();
  });
  connect(group_, &ChartGroup::settings_changed, this, &ChartBoard::save_state);
  follow_theme(context_.theme, this, [this] { apply_theme(); });
}

ChartBoard::~ChartBoard() = default;

Axis ChartBoard::axis() const {
  return parse_axis(to_std(toolbar_->axis()));
}

void ChartBoard::apply_axis() {
  group_->set_axis(chart_axis(axis()));
}

void ChartBoard::apply_theme() {
  group_->set_colors(chart_colors(context_));
}

void ChartBoard::make_charts() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!specs_[i].shown) {
      delete charts_[i];
      charts_[i] = nullptr;
      continue;
    }
    if (charts_[i] != nullptr) continue;
    auto* chart = new Chart(specs_[i].info, board_);
    chart->setAttribute(Qt::WA_StyledBackground);  // a card
    chart->setMinimumHeight(kRowHeight);
    group_->add(chart);
    chart->set_colors(chart_colors(context_));
    connect(chart, &Chart::picture_wanted, this, [this, chart] { export_pictures(chart); });
    connect(chart, &Chart::csv_wanted, this, [this, chart] { Q_EMIT csv_wanted(chart->info().key); });
    connect(chart, &Chart::table_wanted, this,
            [this, chart] { show_chart_table(*chart, chart_axis(axis()), this); });
    charts_[i] = chart;
  }
  columns_ = 0;
  arrange();
}

void ChartBoard::arrange() {
  const int columns = width() >= kTwoColumnsFrom ? 2 : 1;
  if (columns != columns_) {
    columns_ = columns;
    while (QLayoutItem* item = grid_->takeAt(0)) delete item;
    for (int i = 0; i < grid_->rowCount(); ++i) grid_->setRowStretch(i, 0);
    int row = 0, column = 0;
    for (size_t i = 0; i < charts_.size(); ++i) {
      if (charts_[i] == nullptr) continue;
      const int span = specs_[i].wide ? columns : 1;
      if (column + span > columns) {
        ++row;
        column = 0;
      }
      grid_->addWidget(charts_[i], row, column, 1, span);
      grid_->setRowStretch(row, 1);
      charts_[i]->show();
      column += span;
    }
    for (int i = 0; i < columns; ++i) grid_->setColumnStretch(i, 1);
    grid_->setColumnStretch(1, columns == 2 ? 1 : 0);
  }
  const bool scrolls = board_->minimumSizeHint().height() > scroll_->viewport()->height();
  for (Chart* chart : charts()) chart->set_wheel_needs_focus(scrolls);
}

void ChartBoard::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

Chart* ChartBoard::chart(const QString& key) const {
  for (Chart* chart : charts_) {
    if (chart != nullptr && chart->info().key == key) return chart;
  }
  return nullptr;
}

std::vector<Chart*> ChartBoard::charts() const {
  std::vector<Chart*> shown;
  for (Chart* chart : charts_) {
    if (chart != nullptr) shown.push_back(chart);
  }
  return shown;
}

QStringList ChartBoard::shown() const {
  QStringList keys;
  for (const Chart* chart : charts()) keys << chart->info().key;
  return keys;
}

void ChartBoard::clear() {
  for (Chart* chart : charts()) chart->clear();
}

void ChartBoard::save_state() {
  if (restoring_) return;
  QJsonObject state = group_->state();
  state[QStringLiteral("axis")] = toolbar_->axis();
  state[QStringLiteral("charts")] = QJsonArray::fromStringList(shown());
  context_.preferences.set_value(state_key_, QJsonDocument(state).toJson(QJsonDocument::Compact));
}

void ChartBoard::export_pictures(Chart* only) {
  export_picture_dialog(context_, only != nullptr ? std::vector<Chart*>{only} : charts(), this);
}

}  // namespace lathe::ui
