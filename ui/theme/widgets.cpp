#include "ui/theme/widgets.h"

#include <QCoreApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QPainter>
#include <QStyle>
#include <QVBoxLayout>
#include <QVariant>

#include "ui/theme/theme.h"

namespace lathe::ui {

Card::Card(const QString& title, QWidget* parent) : QFrame(parent), body_(new QVBoxLayout) {
  setProperty("card", true);
  setFrameShape(QFrame::StyledPanel);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(2 * Theme::grid, Theme::grid + 4, 2 * Theme::grid, 2 * Theme::grid);
  outer->setSpacing(0);
  header_ = new QHBoxLayout;
  header_->setSpacing(Theme::grid);
  outer->addLayout(header_);
  outer->addLayout(body_, 1);
  body_->setSpacing(Theme::grid);
  if (!title.isEmpty()) set_title(title);
}

void Card::set_title(const QString& title) {
  if (!title_) {
    title_ = new QLabel(this);
    title_->setFont(Theme::heading_font());
    header_->insertWidget(0, title_);
    header_->insertStretch(1, 1);
    header_->setContentsMargins(0, 0, 0, Theme::grid);
  }
  title_->setText(title);
  setAccessibleName(title);
}

void Card::add_to_header(QWidget* widget) {
  header_->addWidget(widget);
}

QLabel* make_title(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setFont(Theme::title_font());
  return label;
}

QLabel* make_muted(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setProperty("role", QStringLiteral("muted"));
  label->setWordWrap(true);
  return label;
}

QPushButton* make_button(const QString& text, const QString& tip, QWidget* parent) {
  auto* button = new QPushButton(text, parent);
  button->setToolTip(tip);
  button->setAutoDefault(false);
  return button;
}

QPushButton* make_primary(const QString& text, const QString& tip, QWidget* parent) {
  QPushButton* button = make_button(text, tip, parent);
  button->setProperty("primary", true);
  return button;
}

void set_style_property(QWidget* widget, const char* name, const QVariant& value) {
  if (widget->property(name) == value) return;
  widget->setProperty(name, value);
  widget->style()->unpolish(widget);
  widget->style()->polish(widget);
  // Margins that the style sheet gives are read again on this event only.
  QEvent changed(QEvent::StyleChange);
  QCoreApplication::sendEvent(widget, &changed);
  widget->updateGeometry();
  widget->update();
}

EmptyState::EmptyState(const Theme& theme, const QString& icon, const QString& title, const QString& text,
                       const QString& action, QWidget* parent)
    : QWidget(parent), title_(new QLabel(title)), text_(make_muted(text)), button_(make_primary(action)) {
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(2 * Theme::grid);
  auto* picture = new QLabel;
  picture->setPixmap(theme.icon(icon).pixmap(QSize(48, 48), QIcon::Disabled));
  connect(&theme, &Theme::changed, picture, [picture, &theme, icon] {
    picture->setPixmap(theme.icon(icon).pixmap(QSize(48, 48), QIcon::Disabled));
  });
  title_->setFont(Theme::heading_font());
  title_->setAlignment(Qt::AlignCenter);
  title_->setWordWrap(true);
  text_->setAlignment(Qt::AlignCenter);
  text_->setMaximumWidth(60 * Theme::grid);
  text_->setMinimumWidth(30 * Theme::grid);
  layout->addStretch(1);
  layout->addWidget(picture, 0, Qt::AlignHCenter);
  layout->addWidget(title_);
  // Stretches instead of an alignment, with which a layout doesn't ask how high the wrapped text is.
  auto* middle = new QHBoxLayout;
  middle->addStretch(1);
  middle->addWidget(text_, 4);
  middle->addStretch(1);
  layout->addLayout(middle);
  layout->addWidget(button_, 0, Qt::AlignHCenter);
  layout->addStretch(2);
  button_->setVisible(!action.isEmpty());
  connect(button_, &QPushButton::clicked, this, &EmptyState::triggered);
}

void EmptyState::set_text(const QString& title, const QString& text) {
  title_->setText(title);
  text_->setText(text);
}

ElidedLabel::ElidedLabel(const QString& text, Qt::TextElideMode mode, QWidget* parent)
    : QWidget(parent), mode_(mode) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  set_text(text);
}

void ElidedLabel::set_text(const QString& text) {
  text_ = text;
  setToolTip(text);
  setAccessibleName(text);
  updateGeometry();
  update();
}

QSize ElidedLabel::sizeHint() const {
  return {fontMetrics().horizontalAdvance(text_) + 4, fontMetrics().height() + 2};
}

QSize ElidedLabel::minimumSizeHint() const {
  return {fontMetrics().averageCharWidth() * 8, fontMetrics().height() + 2};
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(rect(), static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft),
                   fontMetrics().elidedText(text_, mode_, width()));
}

}  // namespace lathe::ui
