#include "ui/pages/run_page.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>

#include "ui/app_context.h"
#include "ui/models/run_text.h"
#include "ui/own_session.h"
#include "ui/pages/run_charts.h"
#include "ui/pages/run_controls.h"
#include "ui/pages/run_export.h"
#include "ui/pages/run_numbers.h"
#include "ui/pages/run_profile_tab.h"
#include "ui/pages/run_tabs.h"
#include "ui/pages/run_try_tab.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

Tone tone_of_status(RunStatus status) {
  switch (status) {
    case RunStatus::Finished:
    case RunStatus::Running:
      return Tone::Good;
    case RunStatus::Failed:
      return Tone::Bad;
    case RunStatus::Paused:
    case RunStatus::Stopping:
    case RunStatus::Interrupted:
      return Tone::Warning;
    case RunStatus::Preparing:
    case RunStatus::Stopped:
      return Tone::Plain;
  }
  return Tone::Plain;
}

QString picker_text(const RunSummary& run) {
  return RunPage::tr("%1 · %2").arg(run_title(run), status_text(run.status));
}

}  // namespace

RunPage::RunPage(AppContext& app, QWidget* parent)
    : Page(app, Place::Run, parent),
      thread_(),
      catalogue_(app.open_history, &thread_),
      feed_(app.open_history, &thread_) {
  build();
  connect(&catalogue_, &CatalogueFeed::listed, this, [this](const RunListPtr& list) { fill_picker(*list); });
  connect(&feed_, &RunFeed::delta, this, [this](const RunDeltaPtr& delta) { take(*delta); });
  connect(charts_, &RunCharts::request_changed, this, &RunPage::request);
  connect(charts_, &RunCharts::rows_wanted, this,
          [this](const QString& table) { export_rows_dialog(context(), {id_}, table, this); });
  connect(picker_, &QComboBox::activated, this,
          [this](int index) { show_run(picker_->itemData(index).toString()); });
  connect(samples_, &RunSamplesTab::sample_wanted, this, [this] { controls_->send(CommandKind::Sample); });
  connect(checkpoints_, &RunCheckpointsTab::save_wanted, this,
          [this] { controls_->send(CommandKind::Save); });
  connect(checkpoints_, &RunCheckpointsTab::try_wanted, this, [this](qint64 step) {
    tabs_->setCurrentWidget(try_);
    try_->choose_step(step);
  });
  connect(try_, &RunTryTab::live_sample_wanted, this, [this](const QString& prompt) {
    controls_->send(CommandKind::Sample, prompt);
    tabs_->setCurrentWidget(samples_);
  });
}

RunPage::~RunPage() = default;

void RunPage::build() {
  // From the outside in: whatever moves to another parent is styled again with all it holds.
  stack_ = new QStackedWidget(this);
  auto* shown = new QWidget(stack_);
  picker_ = new QComboBox(shown);
  picker_->setEditable(true);
  picker_->setInsertPolicy(QComboBox::NoInsert);
  picker_->setAccessibleName(tr("Run shown"));
  picker_->setToolTip(tr("Choose a run; type to find one"));
  picker_->setMinimumWidth(240);
  picker_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  picker_->setMaximumWidth(440);
  picker_->completer()->setCompletionMode(QCompleter::PopupCompletion);
  picker_->completer()->setFilterMode(Qt::MatchContains);
  status_ = new QLabel(shown);
  status_->setAccessibleName(tr("Status"));
  reason_ = new ElidedLabel({}, Qt::ElideRight, shown);
  auto* header = new QHBoxLayout;
  header->setSpacing(Theme::grid);
  header->addWidget(picker_, 2);
  header->addWidget(status_);
  header->addWidget(reason_, 3);

  controls_ = new RunControls(context(), shown);
  numbers_ = new RunNumbers(context(), shown);
  charts_ = new RunCharts(context(), shown);
  samples_ = new RunSamplesTab(context(), shown);
  try_ = new RunTryTab(context(), shown);
  log_ = new RunLogTab(context(), shown);
  checkpoints_ = new RunCheckpointsTab(context(), shown);
  settings_ = new RunSettingsTab(context(), shown);
  profile_ = new RunProfileTab(context(), shown);
  tabs_ = new QTabWidget(shown);
  tabs_->setDocumentMode(true);
  const auto add_tab = [this](QWidget* content, const QString& title) {
    // A margin around the content, in the colour of the page.
    content->setContentsMargins(0, Theme::grid, 0, 0);
    tabs_->addTab(content, title);
  };
  add_tab(charts_, tr("Charts"));
  add_tab(samples_, tr("Samples"));
  add_tab(try_, tr("Try it"));
  add_tab(log_, tr("Log"));
  add_tab(checkpoints_, tr("Checkpoints"));
  add_tab(settings_, tr("Settings"));
  add_tab(profile_, tr("Profile"));

  auto* layout = new QVBoxLayout(shown);
  layout->setContentsMargins(2 * Theme::grid, 2 * Theme::grid, 2 * Theme::grid, Theme::grid);
  layout->setSpacing(Theme::grid);
  layout->addLayout(header);
  layout->addWidget(controls_);
  layout->addWidget(numbers_);
  layout->addWidget(tabs_, 1);
  auto* empty = new EmptyState(context().theme, QStringLiteral("run"), tr("No run yet"),
                               tr("Configure one in New; it appears here with its first update."),
                               tr("Configure a run"), stack_);
  connect(empty, &EmptyState::triggered, this, [this] { Q_EMIT context().navigator.show_place(Place::New); });
  stack_->addWidget(empty);
  stack_->addWidget(shown);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(stack_);
}

void RunPage::activated() {
  catalogue_.set_active(true);
  feed_.set_active(true);
}

void RunPage::deactivated() {
  catalogue_.set_active(false);
  feed_.set_active(false);
}

void RunPage::focus_search() {
  if (tabs_->currentWidget() == log_) {
    log_->focus_search();
  } else if (tabs_->currentWidget() == settings_) {
    settings_->focus_search();
  } else {
    picker_->setFocus();
    picker_->lineEdit()->selectAll();
  }
}

void RunPage::show_run(const QString& id) {
  if (id.isEmpty() || id == id_) return;
  id_ = id;
  numbers_->clear();
  charts_->clear();
  controls_->set_run(id);
  checkpoints_->set_run(id);
  try_->set_run(id);
  profile_->set_run(id);
  status_->clear();
  reason_->set_text({});
  stack_->setCurrentIndex(1);
  const int index = picker_->findData(id);
  if (index >= 0) {
    picker_->setCurrentIndex(index);
  } else {
    picker_->setCurrentIndex(-1);  // named as soon as the run has been read
    picker_->setEditText({});
  }
  request();
}

void RunPage::request() {
  if (id_.isEmpty()) return;
  complete_ = false;
  RunRequest request;
  request.run = to_std(id_);
  request.axis = charts_->axis();
  request.smoothing = charts_->smoothing();
  request.metrics = charts_->metrics();
  for (const std::string& key : RunNumbers::metrics()) {
    if (std::ranges::find(request.metrics, key) == request.metrics.end()) request.metrics.push_back(key);
  }
  feed_.request(request);
}

void RunPage::fill_picker(const RunList& list) {
  if (!list.error.isEmpty()) {
    reason_->set_text(list.error);
    return;
  }
  if (list.runs.empty()) {
    stack_->setCurrentIndex(0);
    picker_->clear();
    id_.clear();
    feed_.close();
    return;
  }
  bool there = false;
  const bool typing = picker_->lineEdit()->hasFocus() && picker_->lineEdit()->isModified();
  if (!picker_->view()->isVisible() && !typing) {
    const QSignalBlocker quiet(picker_);
    const int count = static_cast<int>(list.runs.size());
    while (picker_->count() > count) picker_->removeItem(picker_->count() - 1);
    for (int i = 0; i < count; ++i) {
      const ListedRun& run = list.runs[static_cast<size_t>(i)];
      const QString text = picker_text(run);
      if (i >= picker_->count()) picker_->addItem(text);
      if (picker_->itemText(i) != text) picker_->setItemText(i, text);
      picker_->setItemData(i, to_qt(run.id));
    }
    picker_->setCurrentIndex(picker_->findData(id_));
  }
  for (const ListedRun& run : list.runs) there = there || to_qt(run.id) == id_;
  if (there) return;
  // Nothing chosen yet, or it was deleted: the one that trains, else the newest.
  const auto active =
      std::ranges::find_if(list.runs, [](const ListedRun& run) { return is_active(run.status); });
  const ListedRun& next = active != list.runs.end() ? *active : list.runs.front();
  show_run(to_qt(next.id));
}

void RunPage::show_status(const RunDetails& run) {
  if (picker_->currentIndex() < 0) picker_->setEditText(picker_text(run));
  status_->setText(status_text(run.status));
  set_tint(status_, tone_of_status(run.status));
  reason_->set_text(to_qt(run.status_reason.empty() ? run.device : run.status_reason));
}

void RunPage::take(const RunDelta& delta) {
  if (!delta.error.isEmpty()) reason_->set_text(delta.error);
  if (delta.details) show_status(*delta.details);
  numbers_->apply(delta);
  controls_->apply(delta);
  charts_->apply(delta);
  samples_->apply(delta);
  try_->apply(delta);
  log_->apply(delta);
  checkpoints_->apply(delta);
  settings_->apply(delta);
  profile_->apply(delta);
  complete_ = complete_ || delta.complete;
}

}  // namespace lathe::ui
