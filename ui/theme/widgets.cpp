#include "ui/theme/widgets.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyle>
#include <QTextDocumentFragment>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "ui/theme/follow.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

// By Tone (palette_of in theme.cpp gives them their colours).
constexpr std::array kToneRoles = {QPalette::NoRole, QPalette::PlaceholderText, QPalette::LinkVisited,
                                   QPalette::Shadow, QPalette::BrightText};

// Always there, and nothing to be seen of it while there is nothing to scroll.
class QuietScrollBar : public QScrollBar {
 public:
  using QScrollBar::QScrollBar;

 protected:
  void paintEvent(QPaintEvent* event) override {
    if (maximum() > minimum()) QScrollBar::paintEvent(event);
  }
};

}  // namespace

Card::Card(const QString& title, QWidget* parent) : QFrame(parent), body_(new QVBoxLayout) {
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
  set_tone(label, Tone::Muted);
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
  set_primary(button);
  return button;
}

QScrollArea* make_scroll_column(QWidget* content, QWidget* parent) {
  auto* scroll = new QScrollArea(parent);
  scroll->setVerticalScrollBar(new QuietScrollBar);
  scroll->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  return scroll;
}

int scroll_bar_width() {
  return QApplication::style()->pixelMetric(QStyle::PM_ScrollBarExtent);
}

void set_tone(QWidget* widget, Tone tone) {
  widget->setForegroundRole(kToneRoles[static_cast<size_t>(tone)]);
}

Tone tone_of(const QWidget& widget) {
  const auto found = std::ranges::find(kToneRoles, widget.foregroundRole());
  return found == kToneRoles.end() ? Tone::Plain : static_cast<Tone>(found - kToneRoles.begin());
}

void set_tint(QLabel* label, Tone tone) {
  set_tone(label, tone);
  label->setFrameShape(tone == Tone::Plain ? QFrame::NoFrame : QFrame::StyledPanel);
}

QColor tint_of(Tone tone) {
  switch (tone) {
    case Tone::Good:
      return {76, 175, 100, 32};
    case Tone::Warning:
      return {230, 165, 30, 40};
    case Tone::Bad:
      return {240, 80, 80, 36};
    case Tone::Plain:
    case Tone::Muted:
      break;
  }
  return {128, 128, 128, 24};
}

void set_primary(QPushButton* button) {
  button->setBackgroundRole(QPalette::Highlight);
  QFont bold;
  bold.setWeight(QFont::DemiBold);
  button->setFont(bold);
}

bool is_primary(const QWidget& widget) {
  return widget.backgroundRole() == QPalette::Highlight;
}

void show_tip_at(QWidget& widget, const QPoint& at, const QString& html) {
  QToolTip::showText(widget.mapToGlobal(at), html, &widget);
  widget.setAccessibleDescription(QTextDocumentFragment::fromHtml(html).toPlainText());
}

void set_elided(QWidget& widget, bool elided) {
  widget.setProperty("elided", elided);
}

EmptyState::EmptyState(const Theme& theme, const QString& icon, const QString& title, const QString& text,
                       const QString& action, QWidget* parent)
    : QWidget(parent), title_(new QLabel(title)), text_(make_muted(text)), button_(make_primary(action)) {
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(2 * Theme::grid);
  auto* picture = new QLabel;
  const auto paint = [picture, &theme, icon] {
    picture->setPixmap(theme.icon(icon).pixmap(QSize(48, 48), QIcon::Disabled));
  };
  paint();
  follow_theme(theme, picture, paint);
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
