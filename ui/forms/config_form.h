// The form: every setting of the table in groups, with a filter, problems beside their fields, and the help
// of the one pointed at.
#pragma once

#include <QScrollArea>
#include <map>
#include <string>
#include <vector>

class QLabel;

namespace lathe::ui {

class Card;
class ConfigDocument;
class SettingRow;
class Theme;

class ConfigForm : public QWidget {
  Q_OBJECT
 public:
  ConfigForm(ConfigDocument& document, const Theme& theme, QWidget* parent = nullptr);

  // Shows rows that match every word, in key, label, section or help; "changed" alone shows what differs.
  void set_filter(const QString& query);
  // Scrolls there and puts the keyboard in.
  void go_to(const std::string& key);
  SettingRow* row(const std::string& key) const;  // null: no such setting
  int visible_rows() const;

 Q_SIGNALS:
  void pointed_at(const QString& key);

 private:
  void refresh();
  void apply_filter();
  void show_help(const SettingRow& row);

  ConfigDocument& document_;
  QScrollArea* scroll_;
  QLabel* nothing_;
  QLabel* help_;
  QString query_;
  std::map<std::string, SettingRow*> rows_;
  struct Group {
    Card* card;
    std::vector<SettingRow*> rows;
  };
  std::vector<Group> groups_;
};

}  // namespace lathe::ui
