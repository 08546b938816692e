#include "ui/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QShortcut>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "core/config/resources.h"
#include "core/history/history_store.h"
#include "core/history/sample_runs.h"
#include "ui/active_runs.h"
#include "ui/alert_panel.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/desktop/desktop_integration.h"
#include "ui/navigation_rail.h"
#include "ui/own_session.h"
#include "ui/pages/page.h"
#include "ui/pages/run_in_button.h"
#include "ui/preferences.h"
#include "ui/run_watch.h"
#include "ui/text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"
#include "ui/training_guard.h"

namespace lathe::ui {
namespace {
const QString kPlaceKey = QStringLiteral("window/place");
}

MainWindow::MainWindow(AppContext& context, PageFactory make_page, QWidget* parent)
    : QMainWindow(parent),
      context_(context),
      make_page_(std::move(make_page)),
      rail_(new NavigationRail(context.theme)),
      stack_(new QStackedWidget),
      alerts_(new AlertPanel(context)),
      banner_(new QWidget),
      banner_text_(new QLabel),
      banner_action_(make_primary({})),
      banner_run_in_(new RunInButton(context)),
      guard_(new TrainingGuard(context, this)),
      watch_(new RunWatch(context, this)),
      active_(new ActiveRuns(context, this)) {
  setWindowTitle(tr("Lathe"));
  setWindowIcon(application_icon());
  setObjectName(QStringLiteral("main_window"));
  setMinimumSize(1024 - 2 * Theme::grid, 640 - 6 * Theme::grid);

  auto* banner_row = new QHBoxLayout(banner_);
  banner_row->setContentsMargins(2 * Theme::grid, Theme::grid, 2 * Theme::grid, 0);
  banner_text_->setWordWrap(true);
  set_tint(banner_text_, Tone::Warning);
  auto* dismiss = make_button(tr("Not now"), tr("Hide this; the run stays resumable in Runs"));
  banner_row->addWidget(banner_text_, 1);
  banner_row->addWidget(banner_action_);
  banner_row->addWidget(banner_run_in_);
  banner_row->addWidget(dismiss);
  banner_->hide();
  connect(dismiss, &QPushButton::clicked, banner_, &QWidget::hide);
  connect(banner_action_, &QPushButton::clicked, this, [this] {
    banner_->hide();
    if (banner_act_) banner_act_();
  });

  auto* middle = new QWidget;
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(banner_);
  column->addWidget(stack_, 1);
  auto* central = new QWidget;
  auto* row = new QHBoxLayout(central);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(rail_);
  row->addWidget(middle, 1);
  row->addWidget(alerts_);
  setCentralWidget(central);
  alerts_->hide();
  for (int i = 0; i < kPlaceCount; ++i) stack_->addWidget(new QWidget);

  const auto follow_preferences = [this] {
    context_.session.set_telemetry_every(context_.preferences.telemetry_every_s());
  };
  follow_preferences();
  connect(&context_.preferences, &Preferences::changed, this, follow_preferences);
  connect_navigator();
  make_shortcuts();
  restore_geometry();
  opened_at_ =
      static_cast<Place>(std::clamp(context_.preferences.value(kPlaceKey, 0).toInt(), 0, kPlaceCount - 1));
  show_place(opened_at_);
}

MainWindow::~MainWindow() {
  // Pages go before the layout's other children, while context and jobs still stand.
  for (Page* page : pages_) delete page;
}

void MainWindow::connect_navigator() {
  Navigator& navigator = context_.navigator;
  connect(&navigator, &Navigator::show_place, this, &MainWindow::show_place);
  connect(&navigator, &Navigator::open_run, this, [this](const QString& id) {
    page(Place::Run)->show_run(id);
    show_place(Place::Run);
  });
  connect(&navigator, &Navigator::clone_run, this, [this](const QString& id) {
    page(Place::New)->show_run(id);
    show_place(Place::New);
  });
  connect(&navigator, &Navigator::use_dataset, this, [this](const QString& folder) {
    page(Place::New)->show_dataset(folder);
    show_place(Place::New);
  });
  connect(&navigator, &Navigator::open_dataset, this, [this](const QString& folder) {
    page(Place::Data)->show_dataset(folder);
    show_place(Place::Data);
  });
  connect(&navigator, &Navigator::show_topic, this, [this](const QString& topic) {
    page(Place::Help)->show_topic(topic);
    show_place(Place::Help);
  });
  connect(&navigator, &Navigator::show_setting_help, this, [this](const QString& key) {
    page(Place::Help)->show_topic(QStringLiteral("settings#") + key);
    show_place(Place::Help);
  });
  connect(&navigator, &Navigator::resume_run, this, &MainWindow::resume);
  connect(&navigator, &Navigator::watch_for_run, watch_, &RunWatch::watch);
  connect(&context_.session, &OwnSession::listed, &navigator, &Navigator::open_run);
  connect(active_, &ActiveRuns::changed, this, [this] {
    update_title();
    // Whoever opens the window while a run trains comes to see it.
    if (!std::exchange(looked_, true) && !active_->runs().empty() && place_ == opened_at_)
      show_place(Place::Run);
  });

  connect(rail_, &NavigationRail::place_chosen, this, &MainWindow::show_place);
  const auto toggle_alerts = [this] {
    alerts_->setVisible(alerts_->isHidden());
    if (!alerts_->isHidden()) context_.alerts.mark_seen();
  };
  connect(rail_, &NavigationRail::alerts_toggled, this, toggle_alerts);
  auto* keys = new QShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A), this);
  connect(keys, &QShortcut::activated, this, toggle_alerts);
  connect(&context_.alerts, &AlertList::unseen_changed, rail_, &NavigationRail::set_unseen_alerts);
  connect(&context_.alerts, &AlertList::raised, this, [this](const Alert& alert) {
    const bool important = alert.level != Alert::Level::Info;
    if (important && alerts_->isHidden()) alerts_->show();
    if (!alerts_->isHidden() && isActiveWindow()) context_.alerts.mark_seen();
    if (context_.preferences.notifications() && !isActiveWindow()) {
      context_.desktop.notify({tr("Lathe"), alert.text, alert.level == Alert::Level::Error});
    }
  });
}

void MainWindow::make_shortcuts() {
  for (int i = 0; i < kPlaceCount; ++i) {
    auto* key = new QShortcut(QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)), this);
    connect(key, &QShortcut::activated, this, [this, i] { show_place(static_cast<Place>(i)); });
  }
  auto* help = new QShortcut(QKeySequence(Qt::Key_F1), this);
  connect(help, &QShortcut::activated, this, [this] { page(place_)->ask_for_help(); });
  auto* find = new QShortcut(QKeySequence::Find, this);
  connect(find, &QShortcut::activated, this, [this] { page(place_)->focus_search(); });
  auto* quit = new QShortcut(QKeySequence::Quit, this);
  connect(quit, &QShortcut::activated, this, &QWidget::close);
}

Page* MainWindow::page(Place place) {
  Page*& slot = pages_[static_cast<size_t>(place)];
  if (!slot) {
    slot = make_page_(context_, place, stack_);
    QWidget* placeholder = stack_->widget(static_cast<int>(place));
    stack_->insertWidget(static_cast<int>(place), slot);
    stack_->removeWidget(placeholder);
    delete placeholder;
  }
  return slot;
}

void MainWindow::show_place(Place place) {
  Page* before = pages_[static_cast<size_t>(place_)];
  Page* next = page(place);
  if (before == next && stack_->currentWidget() == next && painted_) return;
  if (before && before != next) before->deactivated();
  place_ = place;
  stack_->setCurrentWidget(next);
  rail_->set_place(place);
  next->activated();
  // The keyboard follows, so that Tab goes through the page and not the rail first.
  if (!next->isAncestorOf(QApplication::focusWidget())) next->setFocus(Qt::OtherFocusReason);
  update_title();
}

void MainWindow::paintEvent(QPaintEvent* event) {
  QMainWindow::paintEvent(event);
  if (painted_) return;
  painted_ = true;
  QTimer::singleShot(0, this, [this] {
    Q_EMIT first_painted();
    make_next_page();
    look_into_history();
    active_->start();
  });
}

// One page an idle moment, so that the first is usable meanwhile.
void MainWindow::make_next_page() {
  for (int i = 0; i < kPlaceCount; ++i) {
    if (pages_[static_cast<size_t>(i)]) continue;
    page(static_cast<Place>(i));
    QTimer::singleShot(0, this, &MainWindow::make_next_page);
    return;
  }
  Q_EMIT usable();
}

// The runs that train, in this window or elsewhere.
void MainWindow::update_title() {
  const std::vector<ListedRun>& runs = active_->runs();
  rail_->set_training(!runs.empty());
  if (runs.empty()) {
    setWindowTitle(tr("Lathe"));
    return;
  }
  const auto at_work =
      std::ranges::find_if(runs, [](const ListedRun& run) { return run.status != RunStatus::Paused; });
  const bool paused = at_work == runs.end();
  QString name = to_qt(paused ? runs.front().name : at_work->name);
  if (runs.size() > 1) name = tr("%1 and %2 more").arg(name).arg(runs.size() - 1);
  setWindowTitle(paused ? tr("Paused: %1 – Lathe").arg(name) : tr("Training %1 – Lathe").arg(name));
}

void MainWindow::resume(const QString& id, qint64 step) {
  const std::optional<qint64> at = step >= 0 ? std::optional(step) : std::nullopt;
  try {
    if (context_.preferences.own_process()) {
      watch_->resume(id, at);
    } else {
      context_.session.resume(id, at);
    }
  } catch (...) {
    context_.alerts.add_error(as_error(std::current_exception()), id);
    return;
  }
  page(Place::Run)->show_run(id);
  show_place(Place::Run);
}

// At start: a run that a crash or a power cut ended is offered, once. A history that is still empty gets the
// sample runs, once; whoever deletes them has deleted them.
void MainWindow::look_into_history() {
  const QString samples_key = QStringLiteral("runs/samples_imported");
  const bool samples = !context_.preferences.value(samples_key, false).toBool();
  history_.run(
      [open = context_.open_history, samples] {
        // Opening the history marks runs whose process died.
        const auto store = open();
        if (samples && store->list({.archived = true}).empty())
          import_sample_runs(*store, resources_folder() / "samples" / "runs");
        return store->list({.statuses = {RunStatus::Interrupted}});
      },
      [this, samples_key](const std::vector<RunSummary>& runs) {
        context_.preferences.set_value(samples_key, true);
        if (runs.empty()) return;
        const RunSummary& run = runs.front();
        const QString id = to_qt(run.id);
        if (context_.preferences.value(QStringLiteral("interrupted/offered")).toString() == id) return;
        context_.preferences.set_value(QStringLiteral("interrupted/offered"), id);
        const QString more = runs.size() > 1
                                 ? QLatin1Char(' ') + counted_text(static_cast<int64_t>(runs.size()) - 1,
                                                                   tr("1 other stands in Runs."),
                                                                   tr("%1 others stand in Runs."))
                                 : QString();
        if (run.last_checkpoint_step) {
          show_banner(
              tr("Run %1 was interrupted at step %2.").arg(to_qt(run.name), count_text(run.step)) + more,
              tr("Resume at step %1").arg(count_text(*run.last_checkpoint_step)), true,
              [this, id] { Q_EMIT context_.navigator.resume_run(id, -1); });
        } else {
          show_banner(tr("Run %1 was interrupted at step %2, before its first checkpoint.")
                              .arg(to_qt(run.name), count_text(run.step)) +
                          more,
                      tr("Open it"), false, [this, id] { Q_EMIT context_.navigator.open_run(id); });
        }
      },
      [this](const Error& error) { context_.alerts.add_error(error); });
}

void MainWindow::show_banner(const QString& text, const QString& action, bool resumes,
                             std::function<void()> act) {
  banner_text_->setText(text);
  banner_action_->setText(action);
  banner_act_ = std::move(act);
  banner_run_in_->setVisible(resumes);
  banner_->show();
}

void MainWindow::restore_geometry() {
  if (restoreGeometry(context_.preferences.value(QStringLiteral("window/geometry")).toByteArray())) return;
  const QSize space = screen()->availableSize(), wanted(1440, 900);
  // The frame needs room, too: on a laptop's screen the whole of it.
  if (space.width() < wanted.width() + 64 || space.height() < wanted.height() + 64) {
    setWindowState(Qt::WindowMaximized);
  } else {
    resize(wanted);
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!guard_->may_close(this, [this] { close(); })) {
    event->ignore();
    return;
  }
  context_.preferences.set_value(QStringLiteral("window/geometry"), saveGeometry());
  context_.preferences.set_value(kPlaceKey, static_cast<int>(place_));
  if (Page* shown = pages_[static_cast<size_t>(place_)]) shown->deactivated();
  event->accept();
}

}  // namespace lathe::ui
