#include "ui/forms/setting_editor.h"

#include <QHBoxLayout>
#include <QVariant>

#include "ui/text.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

SettingEditor::SettingEditor(const SettingInfo& info, QWidget* parent) : QWidget(parent), info_(info) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
}

void SettingEditor::set_inner(QWidget* inner) {
  inner_ = inner;
  setFocusProxy(inner);
  inner->setObjectName(to_qt(info_.key));
  inner->setAccessibleName(to_qt(info_.label));
  inner->setAccessibleDescription(to_qt(info_.help));
}

void SettingEditor::set_invalid(bool invalid) {
  if (inner_) set_tone(inner_, invalid ? Tone::Bad : Tone::Plain);
}

}  // namespace lathe::ui
