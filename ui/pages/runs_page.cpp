#include "ui/pages/runs_page.h"

#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "core/history/history_store.h"
#include "core/train/checkpoint.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/models/runs_filter.h"
#include "ui/models/runs_model.h"
#include "ui/own_session.h"
#include "ui/pages/run_in_button.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_delegate.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

const QString kHeaderKey = QStringLiteral("runs/header");
const QString kSplitterKey = QStringLiteral("runs/splitter");
const QString kTickedKey = QStringLiteral("runs/ticked");
const QString kBaselineKey = QStringLiteral("runs/baseline");

// Shown unless the user chose otherwise.
constexpr std::array kShownColumns = {
    RunsModel::Name,       RunsModel::Status,     RunsModel::Curve,    RunsModel::Step,
    RunsModel::BestLoss,   RunsModel::LastLoss,   RunsModel::EvalLoss, RunsModel::TokensPerSecond,
    RunsModel::PeakMemory, RunsModel::ActiveTime, RunsModel::Tags};

int default_width(int column) {
  switch (column) {
    case RunsModel::Name:
      return 200;
    case RunsModel::Status:
    case RunsModel::ActiveTime:
      return 104;
    case RunsModel::Curve:
      return 96;
    case RunsModel::Created:
    case RunsModel::Tags:
    case RunsModel::Notes:
    case RunsModel::Device:
      return 150;
    default:
      return 84;
  }
}

QToolButton* icon_button(AppContext& context, const QString& icon, const QString& text, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setIcon(context.theme.icon(icon));
  button->setToolTip(text);
  button->setAccessibleName(text);
  button->setAutoRaise(true);
  return button;
}

}  // namespace

RunsPage::RunsPage(AppContext& app, QWidget* parent)
    : Page(app, Place::Runs, parent), editor_(app.open_history), feed_(app.open_history, &thread_) {
  build();
  setAcceptDrops(true);
  connect(&feed_, &CatalogueFeed::listed, this, [this](const RunListPtr& list) { take(*list); });
  connect(&editor_, &HistoryEditor::edited, &feed_, &CatalogueFeed::look_now);
  connect(&editor_, &HistoryEditor::failed, this,
          [this](const Error& error) { context().alerts.add_error(error); });
  connect(model_, &RunsModel::ticked_changed, this, &RunsPage::ticks_changed);
  connect(model_, &RunsModel::too_many_ticked, this, [this] {
    context().alerts.add({Alert::Level::Info, tr("Ten runs can be laid over one another, no more.")});
  });
  connect(model_, &RunsModel::rename_wanted, this, [this](const QString& id, const QString& name) {
    editor_.run([id = to_std(id), name = to_std(name)](HistoryStore& store) { store.rename(id, name); });
  });
  connect(compare_, &RunsCompare::baseline_wanted, this, &RunsPage::pin_baseline);
  connect(&context().session, &OwnSession::changed, this, &RunsPage::show_state);
  connect(&context().preferences, &Preferences::changed, this, &RunsPage::show_state);
  connect(&context().theme, &Theme::changed, this,
          [this] { model_->set_color_of([this](const QString& id) { return compare_->color_of(id); }); });
}

RunsPage::~RunsPage() {
  context().preferences.set_value(kHeaderKey, view_->horizontalHeader()->saveState());
  if (border_moved_) context().preferences.set_value(kSplitterKey, splitter_->saveState());
}

void RunsPage::build() {
  model_ = new RunsModel(this);
  filter_ = new RunsFilter(this);
  filter_->setSourceModel(model_);
  view_ = make_table(tr("All runs"), this);
  view_->setModel(filter_);
  view_->setSortingEnabled(true);
  view_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  view_->setContextMenuPolicy(Qt::CustomContextMenu);
  view_->setItemDelegateForColumn(RunsModel::Name, new NameDelegate(context().theme, view_));
  view_->setItemDelegateForColumn(RunsModel::Curve, new SparklineDelegate(context().theme, view_));
  view_->setItemDelegateForColumn(RunsModel::Status, new StatusDelegate(context().theme, view_));
  QHeaderView* header = view_->horizontalHeader();
  header->setSectionsMovable(true);
  for (int column = 0; column < RunsModel::ColumnCount; ++column) {
    header->resizeSection(column, default_width(column));
    header->setSectionHidden(column, std::ranges::find(kShownColumns, column) == kShownColumns.end());
  }
  header->setSortIndicator(RunsModel::Created, Qt::DescendingOrder);
  const QByteArray stored = context().preferences.value(kHeaderKey).toByteArray();
  if (!stored.isEmpty()) header->restoreState(stored);

  compare_ = new RunsCompare(context(), this);
  model_->set_color_of([this](const QString& id) { return compare_->color_of(id); });
  const QString baseline = context().preferences.value(kBaselineKey).toString();
  model_->set_baseline(baseline);
  compare_->set_baseline(baseline);
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->addWidget(view_);
  splitter_->addWidget(compare_);
  splitter_->setStretchFactor(0, 2);
  splitter_->setStretchFactor(1, 3);
  splitter_->setChildrenCollapsible(false);
  splitter_->setSizes({240, 420});
  const QByteArray sizes = context().preferences.value(kSplitterKey).toByteArray();
  border_moved_ = !sizes.isEmpty() && splitter_->restoreState(sizes);
  connect(splitter_, &QSplitter::splitterMoved, this, [this] { border_moved_ = true; });
  hint_ = make_muted(
      tr("Tick a run to see its curves below; tick up to ten to lay them over one another. Enter or "
         "a double click opens the selected run."),
      this);

  auto* empty =
      new EmptyState(context().theme, QStringLiteral("runs"), tr("No runs yet"),
                     tr("Every run you train stands here, and logs of other trainers that you import "
                        "or drop onto this page."),
                     tr("Configure a run"), this);
  connect(empty, &EmptyState::triggered, this, [this] { Q_EMIT context().navigator.show_place(Place::New); });
  stack_ = new QStackedWidget(this);
  stack_->addWidget(splitter_);
  stack_->addWidget(empty);
  auto* line = new QHBoxLayout;
  line->setSpacing(Theme::grid);
  build_toolbar(line);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(2 * Theme::grid, 2 * Theme::grid, 2 * Theme::grid, Theme::grid);
  layout->setSpacing(Theme::grid);
  layout->addLayout(line);
  layout->addWidget(stack_, 1);
  layout->addWidget(hint_);

  connect(view_, &QAbstractItemView::doubleClicked, this, &RunsPage::open_current);
  connect(view_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    QMenu menu;
    fill_menu(menu);
    menu.exec(view_->viewport()->mapToGlobal(at));
  });
  connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPage::show_state);
  const auto key = [this](const QKeySequence& keys, void (RunsPage::*act)()) {
    auto* shortcut = new QShortcut(keys, view_, nullptr, nullptr, Qt::WidgetShortcut);
    connect(shortcut, &QShortcut::activated, this, act);
  };
  key(QKeySequence(Qt::Key_Return), &RunsPage::open_current);
  key(QKeySequence(Qt::Key_Enter), &RunsPage::open_current);
  key(QKeySequence::Delete, &RunsPage::delete_selected);
  show_state();
}

void RunsPage::build_toolbar(QHBoxLayout* line) {
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Filter: name, tag, note, status:failed, tag:fp8"));
  search_->setClearButtonEnabled(true);
  search_->setAccessibleName(tr("Filter runs"));
  search_->setMinimumWidth(160);
  count_ = make_muted({}, this);
  count_->setWordWrap(false);
  open_ = make_button(tr("Open"), tr("Shows the run with its charts (Enter, or double click)"), this);
  resume_ = make_button(tr("Resume"), {}, this);
  auto* run_in = new RunInButton(context(), this, RunInButton::Form::Arrow);
  clone_ = make_button(tr("Clone to New"), tr("Opens New with the settings of this run"), this);
  auto* more = icon_button(context(), QStringLiteral("more"), tr("More for the selected runs"), this);
  more->setPopupMode(QToolButton::InstantPopup);
  auto* menu = new QMenu(more);
  more->setMenu(menu);
  connect(menu, &QMenu::aboutToShow, this, [this, menu] {
    menu->clear();
    fill_menu(*menu);
  });
  pin_ =
      icon_button(context(), QStringLiteral("pin"), tr("Measure other runs against the selected one"), this);
  pin_->setCheckable(true);
  trash_ = icon_button(context(), QStringLiteral("trash"), tr("Delete the selected runs"), this);
  archive_button_ = icon_button(context(), QStringLiteral("archive"), tr("Show archived runs too"), this);
  archive_button_->setCheckable(true);
  auto* columns = icon_button(context(), QStringLiteral("columns"), tr("Choose columns"), this);
  columns->setPopupMode(QToolButton::InstantPopup);
  auto* column_menu = new QMenu(columns);
  columns->setMenu(column_menu);
  connect(column_menu, &QMenu::aboutToShow, this, [this, column_menu] {
    column_menu->clear();
    for (int column = RunsModel::Name + 1; column < RunsModel::ColumnCount; ++column) {
      QAction* action = column_menu->addAction(model_->headerData(column, Qt::Horizontal).toString());
      action->setCheckable(true);
      action->setChecked(!view_->isColumnHidden(column));
      connect(action, &QAction::toggled, view_,
              [this, column](bool on) { view_->setColumnHidden(column, !on); });
    }
  });
  auto* import = make_button(
      tr("Import log…"),
      tr("Makes a run of another trainer's log: CSV, JSON lines, trainer_state.json or text"), this);
  import->setIcon(context().theme.icon(QStringLiteral("import")));
  line->addWidget(search_, 1);
  for (QWidget* widget : std::initializer_list<QWidget*>{count_, open_, resume_, run_in, clone_, pin_, trash_,
                                                         more, archive_button_, columns, import}) {
    line->addWidget(widget);
  }
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    filter_->set_text(text);
    show_state();
  });
  connect(archive_button_, &QToolButton::toggled, this, [this](bool on) {
    filter_->set_show_archived(on);
    show_state();
  });
  connect(open_, &QPushButton::clicked, this, &RunsPage::open_current);
  connect(resume_, &QPushButton::clicked, this, &RunsPage::resume_current);
  connect(clone_, &QPushButton::clicked, this, &RunsPage::clone_current);
  connect(pin_, &QToolButton::clicked, this,
          [this](bool on) { pin_baseline(on && current() != nullptr ? to_qt(current()->id) : QString()); });
  connect(trash_, &QToolButton::clicked, this, &RunsPage::delete_selected);
  connect(import, &QPushButton::clicked, this, [this] { import_log(); });
}

void RunsPage::fill_menu(QMenu& menu) {
  const ListedRun* run = current();
  const bool any = run != nullptr;
  const auto add = [&](const QString& text, const QString& icon, bool enabled, auto act) {
    QAction* action = menu.addAction(context().theme.icon(icon), text, this, act);
    action->setEnabled(enabled);
  };
  add(tr("Open"), QStringLiteral("run"), any, [this] { open_current(); });
  add(tr("Resume"), QStringLiteral("resume"), resume_->isEnabled(), [this] { resume_current(); });
  add(tr("Clone to New"), QStringLiteral("clone"), clone_->isEnabled(), [this] { clone_current(); });
  menu.addSeparator();
  add(tr("Rename"), QStringLiteral("edit"), any, [this] { rename_current(); });
  add(tr("Tags…"), QStringLiteral("tag"), any, [this] { edit_tags(); });
  add(tr("Notes…"), QStringLiteral("edit"), any, [this] { edit_notes(); });
  const bool is_baseline = any && to_qt(run->id) == model_->baseline();
  add(is_baseline ? tr("Unpin baseline") : tr("Pin as baseline"), QStringLiteral("pin"), any,
      [this, is_baseline] {
        if (current() != nullptr) pin_baseline(is_baseline ? QString() : to_qt(current()->id));
      });
  menu.addSeparator();
  add(tr("Export every row as CSV…"), QStringLiteral("export"), any, [this] { export_selected(); });
  add(any && run->archived ? tr("Take out of the archive") : tr("Archive"), QStringLiteral("archive"), any,
      [this] { archive_selected(); });
  add(tr("Delete…"), QStringLiteral("trash"), trash_->isEnabled(), [this] { delete_selected(); });
}

void RunsPage::activated() {
  feed_.set_active(true);
  compare_->set_active(true);
}

void RunsPage::deactivated() {
  feed_.set_active(false);
  compare_->set_active(false);
}

void RunsPage::focus_search() {
  search_->setFocus();
  search_->selectAll();
}

void RunsPage::show_runs(const QStringList& ids) {
  wanted_ = ids;
  model_->set_ticked(ids);
  for (const QString& id : model_->ticked()) wanted_.removeAll(id);
}

void RunsPage::take(const RunList& list) {
  if (!list.error.isEmpty()) {
    count_->setText(list.error);
    return;
  }
  model_->set_runs(list.runs);
  if (!std::exchange(listed_, true) && wanted_.isEmpty())
    model_->set_ticked(context().preferences.value(kTickedKey).toStringList());
  if (!wanted_.isEmpty()) show_runs(model_->ticked() + wanted_);
  compare_->set_runs(ticked_runs());
  show_state();
}

std::vector<ListedRun> RunsPage::ticked_runs() const {
  std::vector<ListedRun> runs;
  for (const QString& id : model_->ticked()) {
    if (const ListedRun* run = model_->find(id)) runs.push_back(*run);
  }
  return runs;
}

void RunsPage::ticks_changed() {
  context().preferences.set_value(kTickedKey, model_->ticked());
  compare_->set_runs(ticked_runs());
  // The colours were given just now.
  model_->set_color_of([this](const QString& id) { return compare_->color_of(id); });
  show_state();
}

QStringList RunsPage::selected() const {
  QStringList ids;
  for (const QModelIndex& index : view_->selectionModel()->selectedRows()) {
    ids << index.data(RunsModel::kIdRole).toString();
  }
  return ids;
}

const ListedRun* RunsPage::current() const {
  const QStringList ids = selected();
  return ids.isEmpty() ? nullptr : model_->find(ids.front());
}

void RunsPage::show_state() {
  const int all = model_->rowCount(), shown = filter_->rowCount();
  stack_->setCurrentIndex(all == 0 ? 1 : 0);
  compare_->setVisible(!model_->ticked().isEmpty());
  hint_->setVisible(all > 0 && model_->ticked().isEmpty());
  fit_list();
  count_->setText(shown == all ? counted_text(all, tr("1 run"), tr("%1 runs"))
                               : tr("%1 of %2").arg(shown).arg(all));
  const ListedRun* run = current();
  const bool one = selected().size() == 1;
  const bool idle = run != nullptr && !is_active(run->status);
  open_->setEnabled(one);
  look_into_selected();
  clone_->setEnabled(one && selected_ && selected_->has_settings);
  clone_->setToolTip(one && selected_ && !selected_->has_settings
                         ? tr("This run was imported: its settings aren't known.")
                         : tr("Opens New with the settings of this run"));
  pin_->setEnabled(one);
  pin_->setChecked(one && to_qt(run->id) == model_->baseline());
  const bool saved = one && idle && run->last_checkpoint_step.has_value();
  const QString hindrance = !one     ? tr("Select one run.")
                            : !idle  ? tr("This run is being trained.")
                            : !saved ? tr("This run has no checkpoint to go on from.")
                            : selected_ && !selected_->checkpoint.good ? selected_->checkpoint.text
                                                                       : resume_hindrance(context());
  resume_->setEnabled(hindrance.isEmpty() && selected_);
  resume_->setToolTip(hindrance.isEmpty()
                          ? tr("Goes on behind the checkpoint of step %1, %2.")
                                .arg(count_text(*run->last_checkpoint_step), resume_place(context()))
                          : hindrance);
  trash_->setEnabled(!selected().isEmpty());
}

// Once a selection: Resume is offered for a checkpoint whose manifest and sizes are right, Clone for a run
// whose settings are known.
void RunsPage::look_into_selected() {
  const ListedRun* run = selected().size() == 1 ? current() : nullptr;
  const std::optional<int64_t> step =
      run != nullptr && !is_active(run->status) ? run->last_checkpoint_step : std::nullopt;
  const QString subject =
      run != nullptr ? QStringLiteral("%1@%2").arg(to_qt(run->id)).arg(step.value_or(-1)) : QString();
  if (subject == looked_into_) return;
  looked_into_ = subject;
  selected_.reset();
  look_.cancel();
  if (run == nullptr) return;
  look_.run(
      [open = context().open_history, checks = checks_, id = run->id, home = context().home, step] {
        SelectedRun found;
        found.has_settings = !open()->details(id).settings_json.empty();
        if (step) found.checkpoint = checks.look(checkpoint_folder(home / "runs" / id, *step));
        return found;
      },
      [this](const SelectedRun& found) {
        selected_ = found;
        show_state();
      });
}

// As high as its rows need, so that the curves have the rest; until the user moves the border.
void RunsPage::fit_list() {
  if (border_moved_) return;
  constexpr int most = 240;
  const int rows = filter_->rowCount() * view_->verticalHeader()->defaultSectionSize();
  const int wanted = view_->horizontalHeader()->sizeHint().height() + rows + 2 * view_->frameWidth() +
                     view_->horizontalScrollBar()->sizeHint().height();
  const int list = std::clamp(wanted, view_->minimumSizeHint().height(), most);
  splitter_->setSizes({list, std::max(splitter_->height() - list, most)});
}

}  // namespace lathe::ui
