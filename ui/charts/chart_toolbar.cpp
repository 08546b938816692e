#include "ui/charts/chart_toolbar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>
#include <cmath>

#include "ui/charts/chart_group.h"

namespace lathe::ui {
namespace {

// The slider's positions 0 to 100 as weights: what matters lies close to 1 (0.9, 0.99, 0.999).
double weight_of(int position) {
  return position == 0 ? 0 : 1 - std::pow(10, -3.0 * position / 100);
}

int position_of(double weight) {
  return weight <= 0 ? 0 : static_cast<int>(std::lround(-std::log10(1 - weight) * 100 / 3));
}

QToolButton* toggle(const QString& text, const QString& help, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setToolTip(help);
  button->setCheckable(true);
  button->setAccessibleName(text);
  button->setAccessibleDescription(help);
  return button;
}

}  // namespace

ChartToolbar::ChartToolbar(ChartGroup* group, QWidget* parent) : QWidget(parent), group_(group) {
  axis_ = new QComboBox(this);
  axis_->setAccessibleName(tr("Horizontal axis"));
  axis_->setToolTip(tr("What the horizontal axis of all charts counts"));
  axis_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  auto* smoothing_label = new QLabel(tr("Smoothing"), this);
  smoothing_ = new QSlider(Qt::Horizontal, this);
  smoothing_->setRange(0, 100);
  smoothing_->setFixedWidth(96);
  smoothing_->setAccessibleName(tr("Smoothing"));
  smoothing_label->setBuddy(smoothing_);
  smoothing_->setToolTip(tr(
      "Weight of the past in the moving average (debiased, so it starts at the first value). The raw curve "
      "stays in sight, faint."));
  smoothing_value_ = new QLabel(this);
  smoothing_value_->setMinimumWidth(
      smoothing_value_->fontMetrics().horizontalAdvance(QStringLiteral("0.999")));
  log_ = toggle(tr("Log y"), tr("Logarithmic vertical axis where it makes sense: loss, norms, learning rate"),
                this);
  clip_ =
      toggle(tr("Clip outliers"), tr("Fit the vertical axis to the middle 98% of what is in sight"), this);
  follow_ = toggle(tr("Follow"), tr("When zoomed in at the end, move on with new points"), this);
  auto* all = new QToolButton(this);
  all->setText(tr("Show all"));
  all->setToolTip(tr("Back to the whole run (double click in a chart, or Home)"));

  layout_ = new QHBoxLayout(this);
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(8);
  for (QWidget* widget : std::initializer_list<QWidget*>{axis_, smoothing_label, smoothing_, smoothing_value_,
                                                         log_, clip_, follow_, all}) {
    layout_->addWidget(widget);
  }
  layout_->addStretch();

  connect(axis_, &QComboBox::activated, this, [this] { Q_EMIT axis_chosen(axis()); });
  connect(smoothing_, &QSlider::valueChanged, group_,
          [this](int position) { group_->set_smoothing(weight_of(position)); });
  connect(log_, &QToolButton::toggled, group_, &ChartGroup::set_log_y);
  connect(clip_, &QToolButton::toggled, group_, &ChartGroup::set_clip_outliers);
  connect(follow_, &QToolButton::toggled, group_, &ChartGroup::set_follow);
  connect(all, &QToolButton::clicked, group_, &ChartGroup::show_all);
  connect(group_, &ChartGroup::settings_changed, this, &ChartToolbar::show_settings);
  show_settings();
}

void ChartToolbar::show_settings() {
  const QSignalBlocker quiet(smoothing_);
  smoothing_->setValue(position_of(group_->smoothing()));
  smoothing_value_->setText(group_->smoothing() == 0 ? tr("off")
                                                     : QLocale().toString(group_->smoothing(), 'f', 3));
  log_->setChecked(group_->log_y());
  clip_->setChecked(group_->clip_outliers());
  follow_->setChecked(group_->follow());
}

void ChartToolbar::add_axis(const QString& key, const QString& label) {
  axis_->addItem(label, key);
}

QString ChartToolbar::axis() const {
  return axis_->currentData().toString();
}

void ChartToolbar::set_axis(const QString& key) {
  const int index = axis_->findData(key);
  if (index >= 0) axis_->setCurrentIndex(index);
}

void ChartToolbar::add_widget(QWidget* widget) {
  layout_->addWidget(widget);
}

}  // namespace lathe::ui
