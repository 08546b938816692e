#include "ui/theme/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QPalette>
#include <QToolTip>

#include "ui/theme/icons.h"
#include "ui/theme/style.h"

namespace lathe::ui {
namespace {

QPalette palette_of(const Colors& c) {
  QPalette palette;
  palette.setColor(QPalette::Window, c.window);
  palette.setColor(QPalette::WindowText, c.text);
  palette.setColor(QPalette::Base, c.surface);
  palette.setColor(QPalette::AlternateBase, c.window);
  palette.setColor(QPalette::Text, c.text);
  palette.setColor(QPalette::PlaceholderText, c.muted);
  palette.setColor(QPalette::Button, c.raised);
  palette.setColor(QPalette::ButtonText, c.text);
  palette.setColor(QPalette::BrightText, c.bad);
  palette.setColor(QPalette::ToolTipBase, c.raised);
  palette.setColor(QPalette::ToolTipText, c.text);
  palette.setColor(QPalette::Highlight, c.accent);
  palette.setColor(QPalette::HighlightedText, c.accent_text);
  palette.setColor(QPalette::Link, c.accent);
  palette.setColor(QPalette::Mid, c.border);
  palette.setColor(QPalette::Dark, c.border.darker(115));
  // For bevels, which are not drawn; words take their tone from these (set_tone in widgets.h).
  palette.setColor(QPalette::LinkVisited, c.good);
  palette.setColor(QPalette::Shadow, c.warning);
  QColor faint = c.muted;
  faint.setAlphaF(0.65F);
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText}) {
    palette.setColor(QPalette::Disabled, role, faint);
  }
  palette.setColor(QPalette::Disabled, QPalette::Highlight, c.border);
  palette.setColor(QPalette::Disabled, QPalette::Base, c.window);
  return palette;
}

QFont scaled_font(double factor, QFont::Weight weight) {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * factor);
  font.setWeight(weight);
  return font;
}

}  // namespace

Theme::Theme(QObject* parent) : QObject(parent), colors_(light_colors()) {
  QApplication::setStyle(new LatheStyle);
  apply();
}

void Theme::set_dark(bool dark) {
  if (dark == dark_) return;
  dark_ = dark;
  colors_ = dark ? dark_colors() : light_colors();
  apply();
  Q_EMIT changed();
}

void Theme::apply() {
  const QPalette palette = palette_of(colors_);
  QApplication::setPalette(palette);
  QToolTip::setPalette(palette);
}

QIcon Theme::icon(const QString& name) const {
  return make_icon(*this, name);
}

QFont Theme::title_font() {
  return scaled_font(1.45, QFont::DemiBold);
}

QFont Theme::heading_font() {
  return scaled_font(1.1, QFont::DemiBold);
}

QFont Theme::number_font(int points) {
  QFont font = QApplication::font();
  font.setPointSize(points);
  font.setWeight(QFont::DemiBold);
  return font;
}

QFont Theme::mono_font() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

}  // namespace lathe::ui
