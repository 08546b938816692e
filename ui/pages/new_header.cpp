// The head of New: presets, what is changed, undo, search, device, and the menu of files.
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>

#include "core/config/config_json.h"
#include "core/config/presets.h"
#include "core/platform/files.h"
#include "ui/app_context.h"
#include "ui/forms/assessment.h"
#include "ui/forms/config_form.h"
#include "ui/launch.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_page.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

QToolButton* action_button(QAction* action, const Theme& theme, const char* icon, const QKeySequence& keys) {
  action->setIcon(theme.icon(QString::fromLatin1(icon)));
  action->setShortcut(keys);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  auto* button = new QToolButton;
  button->setDefaultAction(action);
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

}  // namespace

QWidget* NewPage::make_header() {
  const Theme& theme = context().theme;
  auto* header = new QWidget;
  auto* row = new QHBoxLayout(header);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(Theme::grid);
  row->addWidget(make_title(tr("New run")));

  presets_ = make_button({}, tr("Start from a preset; Undo takes it back"));
  presets_->setObjectName(QStringLiteral("presets"));
  presets_->setAccessibleName(tr("Presets"));
  auto* menu = new QMenu(presets_);
  menu->setToolTipsVisible(true);
  attempt([&] {
    for (const PresetInfo& preset : list_presets()) {
      const QString name = to_qt(preset.name);
      QAction* action =
          menu->addAction(name, this, [this, name] { attempt([&] { load_preset_named(name); }); });
      action->setToolTip(to_qt(preset.about));
    }
  });
  presets_->setMenu(menu);
  row->addWidget(presets_);

  changed_ = make_button({}, tr("Show what differs"));
  changed_->setObjectName(QStringLiteral("changed"));
  connect(changed_, &QPushButton::clicked, this, &NewPage::show_changes);
  row->addWidget(changed_);

  QUndoStack& stack = document_.undo_stack();
  QAction* undo = stack.createUndoAction(this, tr("Undo"));
  QAction* redo = stack.createRedoAction(this, tr("Redo"));
  addActions({undo, redo});
  row->addWidget(action_button(undo, theme, "undo", QKeySequence::Undo));
  row->addWidget(action_button(redo, theme, "redo", QKeySequence::Redo));
  row->addStretch(1);

  search_ = new QLineEdit;
  search_->setObjectName(QStringLiteral("search"));
  search_->setPlaceholderText(tr("Find a setting"));
  search_->setAccessibleName(tr("Find a setting"));
  search_->setToolTip(tr("Words in name, key or help; “changed” shows what differs (Ctrl+F)"));
  search_->setClearButtonEnabled(true);
  search_->addAction(theme.icon(QStringLiteral("search")), QLineEdit::LeadingPosition);
  search_->setMinimumWidth(18 * Theme::grid);
  search_->setMaximumWidth(32 * Theme::grid);
  connect(search_, &QLineEdit::textChanged, form_, &ConfigForm::set_filter);
  row->addWidget(search_, 1);

  devices_ = new QComboBox;
  devices_->setObjectName(QStringLiteral("devices"));
  devices_->setAccessibleName(tr("Device to judge against"));
  devices_->setToolTip(tr("The device the verdict is for: this machine's, or a card you think of"));
  devices_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  devices_->setMinimumContentsLength(26);
  connect(devices_, &QComboBox::currentIndexChanged, this, &NewPage::choose_device);
  row->addWidget(devices_);

  auto* more = new QToolButton;
  more->setIcon(theme.icon(QStringLiteral("more")));
  more->setToolTip(tr("Files, clipboard, comparison"));
  more->setAccessibleName(tr("More"));
  more->setPopupMode(QToolButton::InstantPopup);
  more->setFocusPolicy(Qt::TabFocus);
  make_more_menu(more);
  row->addWidget(more);
  return header;
}

void NewPage::make_more_menu(QToolButton* button) {
  const Theme& theme = context().theme;
  auto* menu = new QMenu(button);
  const QString filter = tr("Settings (*.json)");
  menu->addAction(theme.icon(QStringLiteral("open")), tr("Load settings…"), this, [this, filter] {
    const QString path = QFileDialog::getOpenFileName(this, tr("Load settings"), {}, filter);
    if (!path.isEmpty()) attempt([&] { load_file(path); });
  });
  menu->addAction(theme.icon(QStringLiteral("save")), tr("Save settings…"), this, [this, filter] {
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Save settings"), QStringLiteral("settings.json"), filter);
    if (!path.isEmpty()) attempt([&] { save_file(path); });
  });
  menu->addAction(
      theme.icon(QStringLiteral("export")), tr("Export the differences only…"), this, [this, filter] {
        const QString path = QFileDialog::getSaveFileName(this, tr("Export differences"),
                                                          QStringLiteral("changes.json"), filter);
        if (path.isEmpty()) return;
        attempt([&] {
          write_file_atomically(to_path(path), to_json_differences(document_.config()).dump(2) + "\n");
        });
      });
  menu->addSeparator();
  menu->addAction(theme.icon(QStringLiteral("terminal")), tr("Copy as command line"), this, [this] {
    attempt([&] { QApplication::clipboard()->setText(command_line(document_.config())); });
  });
  menu->addAction(theme.icon(QStringLiteral("copy")), tr("Copy as JSON"), this,
                  [this] { QApplication::clipboard()->setText(to_qt(to_json(document_.config()).dump(2))); });
  menu->addAction(theme.icon(QStringLiteral("import")), tr("Import JSON from the clipboard"), this, [this] {
    attempt([&] {
      document_.load(from_json_text(to_std(QApplication::clipboard()->text()), {}, "the clipboard"),
                     tr("clipboard"));
    });
  });
  menu->addSeparator();
  menu->addAction(theme.icon(QStringLiteral("compare")), tr("Compare with a past run…"), this, [this] {
    with_runs(tr("Compare with"), [this](const QString& id) { compare_with_run(id); });
  });
  menu->addAction(theme.icon(QStringLiteral("clone")), tr("Take a past run's settings…"), this,
                  [this] { with_runs(tr("Settings of"), [this](const QString& id) { show_run(id); }); });
  button->setMenu(menu);
}

void NewPage::refresh_header() {
  presets_->setText(document_.base_name());
  const auto count = static_cast<int>(document_.changes().size());
  changed_->setText(count == 0 ? tr("unchanged") : tr("%n changed", nullptr, count));
  changed_->setAccessibleName(
      counted_text(count, tr("1 setting changed from %1"), tr("%1 settings changed from %2"))
          .arg(document_.base_name()));
  changed_->setToolTip(count == 0
                           ? tr("Nothing differs from %1").arg(document_.base_name())
                           : tr("%n changed from %1: show what", nullptr, count).arg(document_.base_name()));
  changed_->setEnabled(count > 0);
}

void NewPage::focus_search() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

}  // namespace lathe::ui
