#include "ui/pages/new_changes_card.h"

#include <QHeaderView>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/forms/config_document.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_changes_model.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {
constexpr int kCellSides = 2 * Theme::grid;
}

ChangesCard::ChangesCard(NewAssessor& assessor, ConfigDocument& document, const Theme& theme, QWidget* parent)
    : Card(tr("What a change would do"), parent),
      assessor_(assessor),
      document_(document),
      model_(new ChangesModel(theme, this)),
      note_(make_muted({})),
      view_(make_table(tr("Changes and what they save and cost"), nullptr)),
      apply_(make_button(tr("Apply"), tr("Apply the selected change; Undo takes it back"))) {
  add_to_header(apply_);
  view_->setModel(model_);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setWordWrap(true);
  view_->horizontalHeader()->setStretchLastSection(false);
  view_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view_->horizontalHeader()->setSectionResizeMode(ChangesModel::kName, QHeaderView::Stretch);
  view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  body()->addWidget(note_);
  body()->addWidget(view_);
  body()->addStretch(1);

  connect(&assessor_, &NewAssessor::started, this, [this] { set_fresh(false); });
  connect(&assessor_, &NewAssessor::assessed, this,
          [this] { note_->setText(tr("Working out what changes would do…")); });
  connect(&assessor_, &NewAssessor::changes_ready, this, &ChangesCard::show_changes);
  connect(apply_, &QPushButton::clicked, this, &ChangesCard::apply);
  connect(view_, &QTableView::activated, this, &ChangesCard::apply);
  connect(view_->horizontalHeader(), &QHeaderView::sectionResized, this, &ChangesCard::fit_rows,
          Qt::QueuedConnection);  // once all sections have their widths
  connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          [this] { set_fresh(fresh_); });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            const QRect row = view_->visualRect(index);
            Q_EMIT row_reached(QRect(view_->viewport()->mapTo(this, row.topLeft()), row.size()));
          });
  set_fresh(false);
  fit_rows();
}

QString ChangesCard::note() const {
  return note_->text();
}

void ChangesCard::set_fresh(bool fresh) {
  fresh_ = fresh;
  view_->setEnabled(fresh_);
  apply_->setEnabled(fresh_ && view_->selectionModel()->hasSelection());
}

void ChangesCard::show_changes() {
  const std::vector<ProposedChange>& changes = assessor_.changes();
  model_->set_changes(changes);
  fit_rows();
  set_fresh(true);
  const bool none = changes.empty();
  const bool over = assessor_.assessment()->estimate.verdict == Verdict::DoesNotFit;
  const bool one_fits = std::ranges::any_of(
      changes, [](const ProposedChange& change) { return change.verdict != Verdict::DoesNotFit; });
  if (over && !one_fits) {
    note_->setText(tr("No set of changes makes this fit: make the model or the context smaller."));
  } else if (over && changes.front().combined) {
    note_->setText(
        tr("None alone is enough: the cheapest set that fits stands first. *\u00A0changes the maths."));
  } else if (over) {
    note_->setText(tr("Changes that save memory, the best first. *\u00A0changes the maths."));
  } else if (none) {
    note_->setText(tr("Nothing to gain from a single change."));
  } else {
    note_->setText(tr("Changes that save work or memory, or fill the card. *\u00A0changes the maths."));
  }
}

void ChangesCard::apply() {
  const QModelIndexList rows = view_->selectionModel()->selectedRows();
  if (rows.isEmpty() || !fresh_) return;
  const ProposedChange change = model_->at(rows.front().row());
  document_.apply(change.config, tr("apply %1").arg(change_text(change)));
}

void ChangesCard::fit_rows() {
  int height = view_->horizontalHeader()->sizeHint().height();
  const int width = view_->columnWidth(ChangesModel::kName) - kCellSides;
  for (int row = 0; row < model_->rowCount(); ++row) {
    // A name takes the lines it needs.
    const QVariant text = model_->index(row, ChangesModel::kName).data(),
                   font = model_->index(row, 0).data(Qt::FontRole);
    const QFontMetrics metrics(font.isValid() ? font.value<QFont>() : view_->font());
    const int lines_height =
        metrics.boundingRect(QRect(0, 0, width, 1000), Qt::TextWordWrap, text.toString()).height();
    const int row_height = view_->verticalHeader()->defaultSectionSize() + lines_height - metrics.height();
    if (view_->rowHeight(row) != row_height) view_->setRowHeight(row, row_height);
    height += row_height;
  }
  view_->setFixedHeight(height);
}

}  // namespace lathe::ui
