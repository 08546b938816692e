#include "ui/navigation_rail.h"

#include <QButtonGroup>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/pages/page.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {
constexpr int kRailWidth = 9 * Theme::grid;
}

NavigationRail::NavigationRail(const Theme& theme, QWidget* parent)
    : QWidget(parent), theme_(theme), group_(new QButtonGroup(this)) {
  setFixedWidth(kRailWidth);
  setAccessibleName(tr("Places"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, Theme::grid, 4, Theme::grid);
  column->setSpacing(4);
  for (int i = 0; i < kPlaceCount; ++i) {
    const auto place = static_cast<Place>(i);
    QToolButton* button = make_button(place_title(place), place_icon(place));
    button->setCheckable(true);
    button->setObjectName(QStringLiteral("rail_") + place_icon(place));
    button->setToolTip(tr("%1 (Ctrl+%2)").arg(place_title(place)).arg(i + 1));
    group_->addButton(button, i);
    column->addWidget(button);
  }
  column->addStretch(1);
  bell_ = make_button(tr("Alerts"), QStringLiteral("bell"));
  bell_->setObjectName(QStringLiteral("rail_alerts"));
  bell_->setToolTip(tr("What you should know (Ctrl+Shift+A)"));
  column->addWidget(bell_);
  group_->button(0)->setChecked(true);
  connect(group_, &QButtonGroup::idClicked, this,
          [this](int id) { Q_EMIT place_chosen(static_cast<Place>(id)); });
  connect(bell_, &QToolButton::clicked, this, &NavigationRail::alerts_toggled);
}

QToolButton* NavigationRail::make_button(const QString& text, const QString& icon) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setIcon(theme_.icon(icon));
  button->setIconSize(QSize(24, 24));
  button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
  button->setFixedSize(kRailWidth - 8, 7 * Theme::grid);
  button->setFocusPolicy(Qt::TabFocus);
  button->setAccessibleName(text);
  return button;
}

void NavigationRail::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.fillRect(width() - 1, 0, 1, height(), palette().color(QPalette::Mid));
}

void NavigationRail::set_place(Place place) {
  group_->button(static_cast<int>(place))->setChecked(true);
}

void NavigationRail::set_unseen_alerts(int count) {
  bell_->setText(count == 0 ? tr("Alerts") : count > 99 ? tr("99+ new") : tr("%n new", nullptr, count));
  bell_->setAccessibleName(count == 0 ? tr("Alerts") : tr("Alerts, %n new", nullptr, count));
  QFont font = bell_->font();
  font.setBold(count > 0);
  bell_->setFont(font);
}

void NavigationRail::set_training(bool training) {
  QAbstractButton* run = group_->button(static_cast<int>(Place::Run));
  const QString title = place_title(Place::Run);
  run->setText(training ? title + QStringLiteral(" ●") : title);
  run->setAccessibleName(training ? tr("%1, training").arg(title) : title);
}

}  // namespace lathe::ui
