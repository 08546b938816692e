#include "ui/pages/data_token_view.h"

#include <QTextBlockFormat>
#include <QTextCursor>

#include "ui/theme/follow.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

TokenView::TokenView(const Theme& theme, QWidget* parent) : QTextBrowser(parent), theme_(theme) {
  setAccessibleName(tr("Text with token borders"));
  setFont(Theme::mono_font());
  setOpenLinks(false);
  document()->setDocumentMargin(Theme::grid);
  follow_theme(theme, this, [this] { render(); });
}

void TokenView::show_text(const TokenText& text) {
  text_ = text;
  render();
}

void TokenView::show_message(const QString& message) {
  text_ = {};
  setPlainText(message);
}

void TokenView::render() {
  if (text_.pieces.empty()) return;
  const Colors& colors = theme_.colors();
  document()->clear();
  document()->setUndoRedoEnabled(false);
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  QTextBlockFormat block;
  block.setLineHeight(140, QTextBlockFormat::ProportionalHeight);
  cursor.setBlockFormat(block);
  QTextCharFormat plain[2];
  QColor tint = colors.accent;
  tint.setAlphaF(0.16F);
  plain[0].setBackground(colors.raised);
  plain[1].setBackground(tint);
  QTextCharFormat mark;
  mark.setForeground(colors.warning);
  int parity = 0;
  for (const TokenText::Piece& piece : text_.pieces) {
    if (piece.begins_document) {
      cursor.insertBlock(block);
      cursor.insertText(tr("document starts"), mark);
      cursor.insertBlock(block);
    }
    QTextCharFormat format = plain[parity];
    parity = 1 - parity;
    format.setForeground(piece.counts ? colors.text : colors.muted);
    format.setFontStrikeOut(!piece.counts);
    format.setToolTip(piece.counts ? tr("token %1").arg(piece.id)
                                   : tr("token %1, not a target").arg(piece.id));
    const bool line_end = piece.text == QLatin1String("<0x0A>");
    if (line_end) {
      cursor.insertText(QString(QChar(0x21B5)), format);
      cursor.insertBlock(block);
    } else {
      QString shown = piece.text;
      // A run of line ends inside a piece would tear the paragraph's format.
      shown.replace(QLatin1Char('\n'), QChar(0x21B5));
      cursor.insertText(shown, format);
    }
  }
  cursor.endEditBlock();
  moveCursor(QTextCursor::Start);
}

}  // namespace lathe::ui
