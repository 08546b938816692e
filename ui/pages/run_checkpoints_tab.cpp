// The checkpoints of a run: where it can go on, and whether every byte is still what was written.
#include <QDesktopServices>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "core/platform/files.h"
#include "ui/app_context.h"
#include "ui/navigator.h"
#include "ui/own_session.h"
#include "ui/pages/run_in_button.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/pages/run_tabs.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

RunCheckpointsTab::RunCheckpointsTab(AppContext& context, QWidget* parent)
    : QWidget(parent), context_(context) {
  model_ = new CheckpointsModel(this);
  view_ = make_table(tr("Checkpoints"), this);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setModel(model_);
  view_->setColumnWidth(CheckpointsModel::Created, 160);
  resume_ = make_primary(tr("Resume here"), {}, this);
  verify_ = make_button(
      tr("Verify"), tr("Reads every file and compares it with its checksum; large ones take a while"), this);
  try_ = make_button(tr("Try it"), tr("Writes text with this checkpoint"), this);
  open_ = make_button(tr("Open folder"), tr("Shows the files of this checkpoint"), this);
  verdict_ = make_muted({}, this);
  auto* line = new QHBoxLayout;
  for (QWidget* widget :
       std::initializer_list<QWidget*>{resume_, new RunInButton(context, this), try_, verify_, open_})
    line->addWidget(widget);
  line->addWidget(verdict_, 1);
  auto* list = new QWidget(this);
  auto* layout = new QVBoxLayout(list);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(line);
  layout->addWidget(view_, 1);
  auto* empty = new EmptyState(context.theme, QStringLiteral("save"), tr("No checkpoint yet"),
                               tr("A checkpoint holds everything the run needs to go on bit for bit."),
                               tr("Save now"), this);
  connect(empty, &EmptyState::triggered, this, &RunCheckpointsTab::save_wanted);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(empty);
  stack_->addWidget(list);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(stack_);

  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] { check(false); });
  connect(resume_, &QPushButton::clicked, this, [this] {
    if (const CheckpointRow* row = current()) Q_EMIT context_.navigator.resume_run(id_, row->step);
  });
  connect(try_, &QPushButton::clicked, this, [this] {
    if (const CheckpointRow* row = current()) Q_EMIT try_wanted(row->step);
  });
  connect(verify_, &QPushButton::clicked, this, &RunCheckpointsTab::verify);
  connect(open_, &QPushButton::clicked, this, [this] {
    const CheckpointRow* row = current();
    if (row != nullptr) QDesktopServices::openUrl(QUrl::fromLocalFile(to_qt(folder_ / from_utf8(row->path))));
  });
  connect(&context.session, &OwnSession::changed, this, &RunCheckpointsTab::show_state);
  connect(&context.preferences, &Preferences::changed, this, &RunCheckpointsTab::show_state);
  show_state();
}

const CheckpointRow* RunCheckpointsTab::current() const {
  const QModelIndex index = view_->currentIndex();
  return index.isValid() && index.row() < model_->rowCount() ? &model_->row(index.row()) : nullptr;
}

void RunCheckpointsTab::set_run(const QString& id) {
  job_.cancel();
  id_ = id;
  model_->set_rows({});
  verdict_->clear();
  show_state();
}

void RunCheckpointsTab::apply(const RunDelta& delta) {
  if (delta.details) {
    active_ = is_active(delta.details->status);
    folder_ = delta.details->folder;
  }
  if (delta.checkpoints) {
    const CheckpointRow* before = current();
    const int64_t step = before != nullptr ? before->step : -1;
    std::vector<CheckpointRow> rows = *delta.checkpoints;
    std::ranges::reverse(rows);  // newest first
    model_->set_rows(rows);
    int selected = 0;
    for (int row = 0; row < model_->rowCount(); ++row) {
      if (model_->row(row).step == step) selected = row;
    }
    if (model_->rowCount() > 0) view_->selectRow(selected);
  }
  show_state();
}

void RunCheckpointsTab::show_state() {
  stack_->setCurrentIndex(model_->rowCount() == 0 ? 0 : 1);
  const CheckpointRow* row = current();
  const bool complete = row != nullptr && row->complete;
  const bool sound = verdict_known_ && verdict_known_->good;
  const QString hindrance = active_ ? tr("The run is being trained.") : resume_hindrance(context_);
  resume_->setEnabled(complete && sound && hindrance.isEmpty());
  resume_->setToolTip(
      hindrance.isEmpty()
          ? tr("Checks the checkpoint, then goes on with the step after it %1.").arg(resume_place(context_))
          : hindrance);
  verify_->setEnabled(complete && verdict_known_ && !verdict_known_->every_byte);
  try_->setEnabled(complete && sound);
  open_->setEnabled(row != nullptr);
}

QString RunCheckpointsTab::verdict() const {
  return verdict_->text();
}

// Of the checkpoint that is chosen: what a look shows, and with `every_byte` what its checksums say.
void RunCheckpointsTab::check(bool every_byte) {
  const CheckpointRow* row = current();
  verdict_known_.reset();
  if (row == nullptr || !row->complete) {
    job_.cancel();
    verdict_->clear();
    show_state();
    return;
  }
  set_tone(verdict_, Tone::Muted);
  if (every_byte) verdict_->setText(tr("Reading %1…").arg(bytes_text(row->bytes)));
  job_.run([checks = checks_, folder = folder_ / from_utf8(row->path),
            every_byte]() mutable { return every_byte ? checks.verify(folder) : checks.look(folder); },
           [this](const CheckpointVerdict& verdict) {
             verdict_known_ = verdict;
             set_tone(verdict_, !verdict.good ? Tone::Bad : verdict.every_byte ? Tone::Good : Tone::Muted);
             verdict_->setText(verdict.text);
             show_state();
           });
  show_state();
}

void RunCheckpointsTab::verify() {
  check(true);
}

}  // namespace lathe::ui
