// The table of changes: what each saves and costs, and the button that applies one.
#pragma once

#include "ui/theme/widgets.h"

class QLabel;
class QPushButton;
class QTableView;

namespace lathe::ui {

class ChangesModel;
class ConfigDocument;
class NewAssessor;
class Theme;

class ChangesCard : public Card {
  Q_OBJECT
 public:
  ChangesCard(NewAssessor& assessor, ConfigDocument& document, const Theme& theme, QWidget* parent = nullptr);

  QTableView* view() const { return view_; }
  QString note() const;

 Q_SIGNALS:
  void row_reached(const QRect& row);  // by the keyboard, in this widget: scroll there

 private:
  void show_changes();
  void apply();
  void set_fresh(bool fresh);
  // The view is as high as its rows: what lies around it scrolls, it doesn't.
  void fit_rows();

  NewAssessor& assessor_;
  ConfigDocument& document_;
  ChangesModel* model_;
  QLabel* note_;
  QTableView* view_;
  QPushButton* apply_;
  bool fresh_ = false;  // the rows are those of the settings as they are
};

}  // namespace lathe::ui
