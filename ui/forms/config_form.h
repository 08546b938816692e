// The form: every setting of the table in groups, with a filter, problems beside their fields, and the help
// of the one pointed at.
#pragma once

#include <QWidget>
#include <map>
#include <memory>
#include <string>
#include <vector>

class QLabel;
class QScrollArea;

namespace lathe::ui {

class Card;
class ConfigDocument;
class SettingRow;
class Theme;
struct Assessment;

class ConfigForm : public QWidget {
  Q_OBJECT
 public:
  ConfigForm(ConfigDocument& document, const Theme& theme, QWidget* parent = nullptr);

  // Shows rows that match every word, in key, label, section or help; "changed" alone shows what differs.
  void set_filter(const QString& query);
  // Scrolls there and puts the keyboard in.
  void go_to(const std::string& key);
  SettingRow* row(const std::string& key) const;  // null: no such setting
  QString focused_key() const;                    // of the setting that has the keyboard; empty: none
  // What "auto" came to; `stale` while a newer answer is on its way. Null: not known yet.
  void show_assessment(std::shared_ptr<const Assessment> assessment, bool stale);
  int visible_rows() const;

 Q_SIGNALS:
  void pointed_at(const QString& key);
  void help_asked(const QString& key);  // for all of the setting's reference

 private:
  void refresh();
  void show_chosen(bool valid);
  void apply_filter();
  void show_help(const SettingRow& row);

  ConfigDocument& document_;
  QScrollArea* scroll_;
  QLabel* nothing_;
  QLabel* help_;
  QString query_;
  std::shared_ptr<const Assessment> assessment_;
  bool stale_ = false;
  std::map<std::string, SettingRow*> rows_;
  struct Group {
    Card* card;
    std::vector<SettingRow*> rows;
  };
  std::vector<Group> groups_;
};

}  // namespace lathe::ui
