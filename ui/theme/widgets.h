// Small pieces every page is put together from, so that all look alike.
#pragma once

#include <QColor>
#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QString>
#include <cstdint>
#include <functional>

class QHBoxLayout;
class QScrollArea;
class QVBoxLayout;

namespace lathe::ui {

class Theme;

// A titled surface with 16 pixels around its content; add to body().
class Card : public QFrame {
  Q_OBJECT
 public:
  explicit Card(const QString& title = {}, QWidget* parent = nullptr);
  QVBoxLayout* body() const { return body_; }
  QLabel* title_label() const { return title_; }  // null without a title
  void set_title(const QString& title);
  void add_to_header(QWidget* widget);  // at the right end of the title's line

 private:
  QVBoxLayout* body_;
  QLabel* title_ = nullptr;
  QHBoxLayout* header_ = nullptr;
};

QLabel* make_title(const QString& text, QWidget* parent = nullptr);
QLabel* make_muted(const QString& text, QWidget* parent = nullptr);  // wraps
QPushButton* make_button(const QString& text, const QString& tip = {}, QWidget* parent = nullptr);
QPushButton* make_primary(const QString& text, const QString& tip = {}, QWidget* parent = nullptr);

// Scrolls `content` up and down. The bar's width is kept free when there is nothing to scroll, so that cards
// above and below stay in line with those inside (scroll_bar_width() at their right).
QScrollArea* make_scroll_column(QWidget* content, QWidget* parent = nullptr);
int scroll_bar_width();

// What a widget's words or frame tell by their colour. Each is a role of the palette, so that they follow it.
enum class Tone : uint8_t { Plain, Muted, Good, Warning, Bad };
void set_tone(QWidget* widget, Tone tone);
Tone tone_of(const QWidget& widget);
void set_tint(QLabel* label, Tone tone);  // its background as well; Plain: none
QColor tint_of(Tone tone);                // a breath of colour over what lies below, light and dark alike
// The one button of a place that does what people came for.
void set_primary(QPushButton* button);
bool is_primary(const QWidget& widget);

// Tells what the mouse would be told, to who came with the keyboard: as a tool tip below `at`, and to screen
// readers.
void show_tip_at(QWidget& widget, const QPoint& at, const QString& html);
// For what paints its own texts: whether one of them was cut off, for tests of the layout (property
// "elided").
void set_elided(QWidget& widget, bool elided);

// What a place shows while it has nothing to show: a sentence and one action.
class EmptyState : public QWidget {
  Q_OBJECT
 public:
  EmptyState(const Theme& theme, const QString& icon, const QString& title, const QString& text,
             const QString& action, QWidget* parent = nullptr);
  QPushButton* button() const { return button_; }
  void set_text(const QString& title, const QString& text);

 Q_SIGNALS:
  void triggered();

 private:
  QLabel* title_;
  QLabel* text_;
  QPushButton* button_;
};

// A label that elides in the middle of its text and tells the whole as a tool tip: for paths and names.
class ElidedLabel : public QWidget {
  Q_OBJECT
 public:
  explicit ElidedLabel(const QString& text = {}, Qt::TextElideMode mode = Qt::ElideMiddle,
                       QWidget* parent = nullptr);
  void set_text(const QString& text);
  QString text() const { return text_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString text_;
  Qt::TextElideMode mode_;
};

}  // namespace lathe::ui
