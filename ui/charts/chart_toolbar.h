// The line of controls above a group of charts: x axis, smoothing, logarithmic, outliers, follow, show all.
#pragma once

#include <QWidget>

class QCheckBox;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QSlider;
class QToolButton;

namespace lathe::ui {

class ChartGroup;

class ChartToolbar : public QWidget {
  Q_OBJECT
 public:
  explicit ChartToolbar(ChartGroup* group, QWidget* parent = nullptr);

  // Fills the choice of x axes; keys come back through axis_chosen().
  void add_axis(const QString& key, const QString& label);
  QString axis() const;
  void set_axis(const QString& key);
  void add_widget(QWidget* widget);  // behind the others

 Q_SIGNALS:
  void axis_chosen(const QString& key);

 private:
  void show_settings();

  ChartGroup* group_;
  QComboBox* axis_;
  QSlider* smoothing_;
  QLabel* smoothing_value_;
  QToolButton* log_;
  QToolButton* clip_;
  QToolButton* follow_;
  QHBoxLayout* layout_;
};

}  // namespace lathe::ui
