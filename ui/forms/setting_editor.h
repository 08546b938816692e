// One editor a kind of setting. All speak the setting's text form, so that form, JSON and --set agree.
#pragma once

#include <QString>
#include <QWidget>

#include "core/config/setting_info.h"

namespace lathe::ui {

class SettingEditor : public QWidget {
  Q_OBJECT
 public:
  explicit SettingEditor(const SettingInfo& info, QWidget* parent = nullptr);

  const SettingInfo& info() const { return info_; }
  virtual QString text() const = 0;
  // Shows a value without emitting edited(). Keeps the cursor when the text says the same already.
  virtual void set_text(const QString& text) = 0;
  // One step up or down, for dragging the label; editors without an order ignore it.
  virtual void step(int /*steps*/) {}
  virtual bool steppable() const { return false; }
  // What Lathe takes while the setting is left to it.
  virtual void set_chosen(const QString& /*text*/) {}
  void set_invalid(bool invalid);

 Q_SIGNALS:
  void edited(const QString& text);  // by the user, at every keystroke

 protected:
  // The inner widget takes focus, name, tool tip and the red frame.
  void set_inner(QWidget* inner);

 private:
  const SettingInfo& info_;
  QWidget* inner_ = nullptr;
};

// The editor for this kind of setting. `info` is an entry of settings().
SettingEditor* make_setting_editor(const SettingInfo& info, QWidget* parent = nullptr);

// The next value up (steps > 0) or down of a number, by a sixteenth to an eighth of its size but at least
// one, on round values: 1, 2, 3 … 32, 34 …; 1792, 1920; 3e-4, 3.1e-4. Clamped to the range. For tests.
int64_t stepped_whole(int64_t value, int steps, const Range& range);
double stepped_real(double value, int steps, const Range& range);

}  // namespace lathe::ui
