// What the Runs page does with the selected runs.
#include <QAbstractButton>
#include <QCheckBox>
#include <QDropEvent>
#include <QInputDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QRadioButton>
#include <QTableView>
#include <QUrl>
#include <QVBoxLayout>

#include "core/history/history_store.h"
#include "ui/app_context.h"
#include "ui/models/runs_filter.h"
#include "ui/models/runs_model.h"
#include "ui/pages/run_export.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_import_dialog.h"
#include "ui/pages/runs_page.h"
#include "ui/preferences.h"
#include "ui/text.h"

namespace lathe::ui {

void RunsPage::open_current() {
  if (const ListedRun* run = current()) Q_EMIT context().navigator.open_run(to_qt(run->id));
}

void RunsPage::resume_current() {
  if (const ListedRun* run = current()) Q_EMIT context().navigator.resume_run(to_qt(run->id), -1);
}

void RunsPage::clone_current() {
  if (const ListedRun* run = current()) Q_EMIT context().navigator.clone_run(to_qt(run->id));
}

void RunsPage::rename_current() {
  const ListedRun* run = current();
  if (run == nullptr) return;
  const QModelIndex source = model_->index(model_->row_of(to_qt(run->id)), RunsModel::Name);
  view_->edit(filter_->mapFromSource(source));
}

void RunsPage::edit_tags() {
  const QStringList ids = selected();
  const ListedRun* first = current();
  if (first == nullptr) return;
  QStringList before;
  for (const std::string& tag : first->tags) before << to_qt(tag);
  bool accepted = false;
  const QString text = QInputDialog::getText(this, tr("Tags"), tr("Tags, separated by commas:"),
                                             QLineEdit::Normal, before.join(QStringLiteral(", ")), &accepted);
  if (!accepted) return;
  QStringList after;
  for (const QString& tag : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (!tag.trimmed().isEmpty()) after << tag.trimmed();
  }
  // Several runs: what changed for the first changes for all, their other tags stay.
  editor_.run([ids, before, after](HistoryStore& store) {
    for (const QString& id : ids) {
      for (const QString& tag : before) {
        if (!after.contains(tag)) store.remove_tag(to_std(id), to_std(tag));
      }
      for (const QString& tag : after) {
        if (!before.contains(tag) || ids.size() > 1) store.add_tag(to_std(id), to_std(tag));
      }
    }
  });
}

void RunsPage::edit_notes() {
  const ListedRun* run = current();
  if (run == nullptr) return;
  bool accepted = false;
  const QString text = QInputDialog::getMultiLineText(
      this, tr("Notes"), tr("Notes of %1:").arg(to_qt(run->name)), to_qt(run->notes), &accepted);
  if (!accepted) return;
  editor_.run([id = run->id, text](HistoryStore& store) { store.set_notes(id, to_std(text)); });
}

void RunsPage::archive_selected() {
  const ListedRun* run = current();
  if (run == nullptr) return;
  editor_.run([ids = selected(), archived = !run->archived](HistoryStore& store) {
    for (const QString& id : ids) store.set_archived(to_std(id), archived);
  });
}

void RunsPage::delete_selected() {
  const QStringList ids = selected();
  const ListedRun* first = current();
  if (first == nullptr) return;
  QMessageBox box(
      QMessageBox::Warning, tr("Delete"),
      ids.size() == 1 ? tr("Delete %1?").arg(to_qt(first->name)) : tr("Delete %1 runs?").arg(ids.size()),
      QMessageBox::NoButton, this);
  box.setInformativeText(tr("Its numbers, log and samples are gone then. Checkpoints can stay on the disk, "
                            "in runs/%1/checkpoints of the "
                            "home folder; Archive only takes it out of sight.")
                             .arg(ids.front()));
  QPushButton* all = box.addButton(tr("Delete with checkpoints"), QMessageBox::DestructiveRole);
  QPushButton* keep = box.addButton(tr("Delete, keep checkpoints"), QMessageBox::ActionRole);
  QPushButton* archive = box.addButton(tr("Archive"), QMessageBox::ActionRole);
  box.setDefaultButton(box.addButton(QMessageBox::Cancel));
  box.exec();
  if (box.clickedButton() == archive) archive_selected();
  if (box.clickedButton() != all && box.clickedButton() != keep) return;
  const DeleteFiles files =
      box.clickedButton() == all ? DeleteFiles::Everything : DeleteFiles::KeepCheckpoints;
  for (const QString& id : ids) {
    editor_.run([id, files](HistoryStore& store) { store.delete_run(to_std(id), files); });
  }
}

void RunsPage::export_selected() {
  export_rows_dialog(context(), selected(), QStringLiteral("updates"), this);
}

void RunsPage::pin_baseline(const QString& id) {
  context().preferences.set_value(QStringLiteral("runs/baseline"), id);
  model_->set_baseline(id);
  compare_->set_baseline(id);
}

void RunsPage::import_log(const QString& file) {
  auto* dialog = new RunsImportDialog(context(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &RunsImportDialog::imported, this, [this](const QString& id, bool baseline) {
    if (baseline) pin_baseline(id);
    wanted_ << id;
    feed_.look_now();
  });
  dialog->show();
  file.isEmpty() ? dialog->choose_file() : dialog->set_file(file);
}

void RunsPage::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void RunsPage::dropEvent(QDropEvent* event) {
  const QString file = event->mimeData()->urls().value(0).toLocalFile();
  event->acceptProposedAction();
  if (!file.isEmpty()) import_log(file);
}

}  // namespace lathe::ui
