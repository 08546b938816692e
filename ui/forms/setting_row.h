// A line of the form: label to drag, editor, unit, a mark and a way back when changed, the reason when wrong.
#pragma once

#include <QLabel>
#include <QWidget>

#include "core/config/run_config.h"
#include "core/config/setting_info.h"

class QToolButton;

namespace lathe::ui {

class ElidedLabel;
class SettingEditor;
class Theme;

// A label that steps its editor when dragged sideways, 12 pixels a step.
class DragLabel : public QLabel {
  Q_OBJECT
 public:
  DragLabel(const QString& text, SettingEditor& editor, QWidget* parent = nullptr);

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void enterEvent(QEnterEvent* event) override;

 private:
  SettingEditor& editor_;
  int last_x_ = 0;
};

class SettingRow : public QWidget {
  Q_OBJECT
 public:
  SettingRow(const SettingInfo& info, const Theme& theme, QWidget* parent = nullptr);

  const SettingInfo& info() const { return info_; }
  SettingEditor& editor() const { return *editor_; }

  // `text` in the editor, unit and greying for this configuration, the mark when it differs from the base.
  void show_value(const RunConfig& config, const QString& text, bool changed, const QString& base_text);
  // What Lathe makes of a value left to it, behind the editor: "= 4,096". Empty: nothing; `stale`: greyed.
  void show_chosen(const QString& text, bool stale);
  QString chosen() const;
  void show_problem(const QString& message, const QString& advice);  // both empty: none
  bool matches(const QString& query) const;                          // in key, label or help; empty matches

 Q_SIGNALS:
  void edited(const QString& text);
  void reset_asked();
  void pointed_at();  // hovered or focused: help may show it

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void enterEvent(QEnterEvent* event) override;

 private:
  const SettingInfo& info_;
  SettingEditor* editor_;
  DragLabel* label_;
  ElidedLabel* chosen_;
  QLabel* unit_;
  QToolButton* reset_;
  QLabel* problem_;
};

}  // namespace lathe::ui
