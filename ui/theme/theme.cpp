#include "ui/theme/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QPalette>

#include "ui/theme/icons.h"
#include "ui/theme/style.h"

namespace lathe::ui {
namespace {

QPalette palette_of(const Colors& c) {
  QPalette palette;
  palette.setColor(QPalette::Window, c.window);
  palette.setColor(QPalette::WindowText, c.text);
  palette.setColor(QPalette::Base, c.surface);
  palette.setColor(QPalette::AlternateBase, c.raised);
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
  palette.setColor(QPalette::LinkVisited, c.accent);
  // Fusion draws its bevels from these.
  palette.setColor(QPalette::Light, c.surface.lighter(104));
  palette.setColor(QPalette::Midlight, c.raised);
  palette.setColor(QPalette::Mid, c.border);
  palette.setColor(QPalette::Dark, c.border.darker(115));
  palette.setColor(QPalette::Shadow, c.border.darker(160));
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

// Only what Fusion can't say through the palette: cards, quiet labels, the primary button, states of editors.
QString style_sheet(const Colors& c) {
  return QStringLiteral(R"(
QToolTip { background: %raised; color: %text; border: 1px solid %border; padding: 4px 6px; }
*[card="true"] { background: %surface; border: 1px solid %border; border-radius: 6px; }
*[role="muted"] { color: %muted; }
*[role="good"] { color: %good; }
*[role="warning"] { color: %warning; }
*[role="bad"] { color: %bad; }
QLabel[tint="good"] { background: %gtint; color: %good; border-radius: 4px; padding: 4px 8px; }
QLabel[tint="warning"] { background: %wtint; color: %warning; border-radius: 4px; padding: 4px 8px; }
QLabel[tint="bad"] { background: %btint; color: %bad; border-radius: 4px; padding: 4px 8px; }
QPushButton { padding: 5px 14px; min-height: 18px; border: 1px solid %border; border-radius: 5px; background: %surface; color: %text; }
QPushButton:hover { background: %raised; }
QPushButton:pressed, QPushButton:checked { background: %border; }
QPushButton:focus { border: 1px solid %accent; }
QPushButton:disabled { color: %faint; background: %window; }
QPushButton[primary="true"] { background: %accent; color: %ontop; border-color: %accent; font-weight: 600; }
QPushButton[primary="true"]:hover { background: %hover; }
QPushButton[primary="true"]:focus { border: 2px solid %text; padding: 4px 13px; }
QPushButton[primary="true"]:disabled { background: %border; color: %muted; border-color: %border; }
QPushButton::menu-indicator { subcontrol-position: right center; subcontrol-origin: padding; right: 4px; }
QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 4px; color: %text; }
QToolButton:hover { background: %raised; }
QToolButton:pressed, QToolButton:checked { background: %border; }
QToolButton:focus { border: 1px solid %accent; }
QLineEdit, QPlainTextEdit, QTextBrowser, QTextEdit { border: 1px solid %border; border-radius: 4px; background: %surface; selection-background-color: %accent; selection-color: %ontop; }
QLineEdit { padding: 3px 6px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextBrowser:focus, QTextEdit:focus { border: 1px solid %accent; }
QLineEdit:disabled, QPlainTextEdit:disabled { background: %window; color: %faint; }
*[invalid="true"] { border: 1px solid %bad; }
QScrollArea { border: none; background: transparent; }
QScrollArea > QWidget > QWidget { background: transparent; }
QToolButton::menu-indicator { image: none; }
#rail { background: %surface; border-right: 1px solid %border; }
QAbstractItemView { border: 1px solid %border; border-radius: 4px; background: %surface; alternate-background-color: %window; }
*[card="true"] QAbstractItemView, *[card="true"] QTextBrowser { border: none; }
QScrollBar:vertical { width: 10px; background: transparent; margin: 0; }
QScrollBar:horizontal { height: 10px; background: transparent; margin: 0; }
QScrollBar::handle { background: %border; border-radius: 4px; margin: 1px; }
QScrollBar::handle:hover { background: %muted; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QHeaderView::section { background: %window; color: %muted; border: none; border-bottom: 1px solid %border; padding: 5px 8px; }
QTabBar::tab { padding: 6px 14px; color: %muted; border: none; border-bottom: 2px solid transparent; background: transparent; }
QTabBar::tab:selected { color: %text; border-bottom: 2px solid %accent; }
QTabBar::tab:hover { color: %text; }
QTabBar::tab:focus { color: %accent; }
QTabWidget::pane { border: none; border-top: 1px solid %border; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: %border; }
QProgressBar { border: 1px solid %border; border-radius: 4px; background: %window; text-align: center; color: %text; min-height: 16px; }
QProgressBar::chunk { background: %accent; border-radius: 3px; }
QMenu { background: %surface; color: %text; border: 1px solid %border; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: %accent; color: %ontop; }
QMenu::item:disabled { color: %faint; }
QMenu::separator { height: 1px; background: %border; margin: 4px 8px; }
QStatusBar { color: %muted; }
)")
      .replace(QLatin1String("%raised"), c.raised.name())
      .replace(QLatin1String("%text"), c.text.name())
      .replace(QLatin1String("%border"), c.border.name())
      .replace(QLatin1String("%surface"), c.surface.name())
      .replace(QLatin1String("%muted"), c.muted.name())
      .replace(QLatin1String("%faint"), c.muted.name())
      .replace(QLatin1String("%good"), c.good.name())
      .replace(QLatin1String("%warning"), c.warning.name())
      .replace(QLatin1String("%bad"), c.bad.name())
      .replace(QLatin1String("%gtint"), c.good_tint.name())
      .replace(QLatin1String("%wtint"), c.warning_tint.name())
      .replace(QLatin1String("%btint"), c.bad_tint.name())
      .replace(QLatin1String("%window"), c.window.name())
      .replace(QLatin1String("%accent"), c.accent.name())
      .replace(QLatin1String("%ontop"), c.accent_text.name())
      .replace(QLatin1String("%hover"), c.accent.lighter(112).name());
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
  QApplication::setPalette(palette_of(colors_));
  qApp->setStyleSheet(style_sheet(colors_));
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
