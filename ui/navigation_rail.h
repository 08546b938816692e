// The rail on the left: one button a place, icon above name, and the bell of alerts at its foot.
#pragma once

#include <QWidget>

#include "ui/navigator.h"

class QToolButton;
class QButtonGroup;

namespace lathe::ui {

class Theme;

class NavigationRail : public QWidget {
  Q_OBJECT
 public:
  explicit NavigationRail(const Theme& theme, QWidget* parent = nullptr);

  void set_place(Place place);
  void set_unseen_alerts(int count);
  void set_training(bool training);  // a dot at Run

 Q_SIGNALS:
  void place_chosen(lathe::ui::Place place);
  void alerts_toggled();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QToolButton* make_button(const QString& text, const QString& icon);

  const Theme& theme_;
  QButtonGroup* group_;
  QToolButton* bell_;
};

}  // namespace lathe::ui
