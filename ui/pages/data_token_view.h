// Text with the borders of its tokens: neighbours on alternating grounds, starts of documents marked, tokens
// that don't count in the loss struck out.
#pragma once

#include <QTextBrowser>

#include "ui/pages/data_facts.h"

namespace lathe::ui {

class Theme;

class TokenView : public QTextBrowser {
  Q_OBJECT
 public:
  explicit TokenView(const Theme& theme, QWidget* parent = nullptr);
  void show_text(const TokenText& text);
  void show_message(const QString& message);

 private:
  void render();
  const Theme& theme_;
  TokenText text_;
};

}  // namespace lathe::ui
