// Help: the manual from resources/help, and the reference of settings from the table, searchable together.
#pragma once

#include <QString>
#include <vector>

#include "ui/pages/page.h"

class QLineEdit;
class QListWidget;
class QTextBrowser;

namespace lathe::ui {

struct HelpTopic {
  QString name;   // file name without .md: "new"; "settings" and "metrics" are made from their tables
  QString title;  // its first heading
  QString text;   // Markdown
};

// The manual in its order (index first, metrics and settings last). Throws NotFound without a resources
// folder.
std::vector<HelpTopic> load_help();

// How well a topic answers a query: occurrences of its words, those in the title worth ten; 0 when one is
// missing.
int relevance(const HelpTopic& topic, const QString& query);

class HelpPage : public Page {
  Q_OBJECT
 public:
  explicit HelpPage(AppContext& context, QWidget* parent = nullptr);

  void show_topic(const QString& topic) override;  // "runs", "settings#memory.recompute"
  void focus_search() override;
  QString shown_topic() const;
  int listed_topics() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void filter(const QString& query);
  void show_current();
  void mark_found();

  std::vector<HelpTopic> topics_;
  QLineEdit* search_;
  QListWidget* list_;
  QTextBrowser* view_;
};

}  // namespace lathe::ui
