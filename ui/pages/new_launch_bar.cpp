#include "ui/pages/new_launch_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>

#include "core/config/setting_info.h"
#include "core/history/history_store.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/devices.h"
#include "ui/forms/assessment.h"
#include "ui/forms/config_document.h"
#include "ui/launch.h"
#include "ui/navigator.h"
#include "ui/own_session.h"
#include "ui/pages/data_job.h"
#include "ui/pages/new_assessor.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

enum Where { kThisWindow, kOwnProcess };

}  // namespace

LaunchBar::LaunchBar(AppContext& context, ConfigDocument& document, NewAssessor& assessor, QWidget* parent)
    : QWidget(parent),
      context_(context),
      document_(document),
      assessor_(assessor),
      name_(new QLineEdit),
      where_(new QComboBox),
      reason_(make_muted({})),
      way_out_(make_button({})),
      launch_(make_primary(tr("Launch"), tr("Start the run (Ctrl+Return)"))) {
  where_->addItem(tr("Train in this window"));
  where_->setItemData(kThisWindow,
                      tr("On a thread of this window: closing the window stops it, saved first if you like."),
                      Qt::ToolTipRole);
  where_->addItem(tr("Train in its own process"));
  where_->setItemData(kOwnProcess,
                      tr("Outlives this window, its display server and a GPU fault; watched and steered from "
                         "here all the same."),
                      Qt::ToolTipRole);
  where_->setAccessibleName(tr("Where the run lives"));
  where_->setToolTip(
      tr("In this window, closing it ends the run. In its own process the run outlives the window."));
  const auto show_where = [this] {
    where_->setCurrentIndex(context_.preferences.own_process() ? kOwnProcess : kThisWindow);
  };
  show_where();
  connect(&context_.preferences, &Preferences::changed, this, show_where);
  name_->setObjectName(QStringLiteral("run_name"));
  name_->setAccessibleName(tr("Name of the run"));
  name_->setToolTip(tr("What lists and titles call the run; empty takes the name shown in grey"));
  name_->setMinimumWidth(16 * Theme::grid);
  name_->setMaximumWidth(28 * Theme::grid);
  auto* name_label = new QLabel(tr("Name"));
  name_label->setBuddy(name_);
  connect(name_, &QLineEdit::textEdited, this,
          [this](const QString& text) { document_.set_text("run.name", text); });
  launch_->setObjectName(QStringLiteral("launch"));
  // Not the button's own shortcut: setText() would clear it.
  auto* keys = new QShortcut(QKeySequence(Qt::CTRL | Qt::Key_Return), this);
  connect(keys, &QShortcut::activated, launch_, &QPushButton::click);
  reason_->setAccessibleName(tr("Why the run can't be launched yet"));
  way_out_->setObjectName(QStringLiteral("way_out"));

  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  layout->addWidget(reason_, 2);
  layout->addWidget(way_out_);
  layout->addWidget(name_label);
  layout->addWidget(name_, 1);
  layout->addWidget(where_);
  layout->addWidget(launch_);

  connect(where_, &QComboBox::currentIndexChanged, this, [this](int index) {
    context_.preferences.set_own_process(index == kOwnProcess);
    refresh();
  });
  connect(launch_, &QPushButton::clicked, this, &LaunchBar::launch);
  connect(way_out_, &QPushButton::clicked, this, [this] {
    if (offer_sample_) {
      Q_EMIT sample_dataset_asked();
    } else {
      Q_EMIT setting_asked(blocking_key_);
    }
  });
  connect(&document_, &ConfigDocument::changed, this, &LaunchBar::refresh);
  connect(&assessor_, &NewAssessor::started, this, &LaunchBar::refresh);
  connect(&assessor_, &NewAssessor::assessed, this, &LaunchBar::refresh);
  connect(&context_.devices, &Devices::ready_changed, this, &LaunchBar::refresh);
  connect(&context_.session, &OwnSession::changed, this, &LaunchBar::refresh);
  connect(&job_, &LatestJob::busy_changed, this, &LaunchBar::refresh);
  refresh();
}

QString default_run_name(const ConfigDocument& document) {
  constexpr size_t kMost = 2;
  QStringList parts{document.base_name()};
  if (parts.front().endsWith(QLatin1String(".json"))) parts.front().chop(5);
  for (const SettingDifference& change : document.changes()) {
    const SettingInfo& setting = require_setting(change.key);
    if (parts.size() > static_cast<qsizetype>(kMost)) break;
    if (setting.section == "data" || setting.section == "run") continue;  // where and how long, not what
    parts << to_qt(setting.name).replace(QLatin1Char('_'), QLatin1Char(' ')) + QLatin1Char(' ') +
                 to_qt(change.b_text);
  }
  return parts.join(QStringLiteral(", "));
}

QString LaunchBar::reason() const {
  return launch_->isEnabled() ? QString() : reason_->text();
}

void LaunchBar::set_warning(const QString& warning) {
  if (warning_ == warning) return;
  warning_ = warning;
  refresh();
}

RunConfig LaunchBar::config_to_launch() const {
  RunConfig config = document_.config();
  if (config.run.name.empty()) config.run.name = to_std(name_->placeholderText());
  return config;
}

void LaunchBar::refresh() {
  QString reason, way_out;
  blocking_key_.clear();
  offer_sample_ = false;
  if (name_->text() != document_.text("run.name")) name_->setText(document_.text("run.name"));
  name_->setPlaceholderText(default_run_name(document_));
  const std::vector<Problem> problems = document_.problems(true);
  const bool own = where_->currentIndex() == kThisWindow;
  launch_->setText(tr("Launch"));
  if (!context_.devices.ready()) {
    launch_->setText(tr("Checking GPU…"));
    reason = tr("Asking the driver what this machine can train on.");
  } else if (job_.busy()) {
    launch_->setText(tr("Starting…"));
  } else if (!problems.empty()) {
    const Problem& first = problems.front();
    blocking_key_ = to_qt(first.key);
    const bool no_data = first.key == "data.sources" && document_.config().data.sources.empty();
    offer_sample_ = no_data && document_.config().model.vocab <= kLargestSampleVocab;
    reason = no_data ? tr("There is nothing to train on yet.") : to_qt(first.message);
    way_out = offer_sample_ ? tr("Use the sample text") : no_data ? tr("Choose data") : tr("Show");
  } else if (assessor_.device() && !assessor_.device()->here) {
    reason = tr("%1 is not in this machine: pick a device that is.").arg(to_qt(assessor_.device()->name));
  } else if (assessor_.pending() || !assessor_.assessment()) {
    reason = tr("Estimating…");
  } else if (assessor_.assessment()->estimate.verdict == Verdict::DoesNotFit) {
    reason = tr("It does not fit. The table of changes says what would help.");
  } else if (own && context_.session.active()) {
    reason = tr("This window trains a run already: stop it, or train this one in its own process.");
  }
  reason_->setText(reason.isEmpty() ? warning_ : reason);
  set_tone(reason_, reason.isEmpty() ? Tone::Warning : Tone::Muted);
  way_out_->setText(way_out);
  way_out_->setVisible(!way_out.isEmpty());
  way_out_->setToolTip(offer_sample_ ? tr("Builds a small dataset from six novels of Jane Austen, with a "
                                          "vocabulary of this model's size")
                                     : tr("Go to the setting"));
  launch_->setEnabled(reason.isEmpty() && !job_.busy());
}

void LaunchBar::launch() {
  where_->currentIndex() == kThisWindow ? launch_here() : launch_detached_run();
}

void LaunchBar::launch_here() {
  try {
    context_.session.start(config_to_launch());
  } catch (const Error& error) {
    context_.alerts.add_error(error);
    return;
  }
  context_.navigator.show_place(Place::Run);
}

void LaunchBar::launch_detached_run() {
  job_.run(
      [home = context_.home, config = config_to_launch(), open = context_.open_history,
       telemetry_every_s = context_.preferences.telemetry_every_s()] {
        const std::string newest = [&] {
          const std::vector<RunSummary> runs = open()->list({.archived = true});
          return runs.empty() ? std::string() : runs.front().id;
        }();
        return std::pair(launch_detached(home, config, telemetry_every_s), newest);
      },
      [this](const std::pair<DetachedRun, std::string>& started) {
        Q_EMIT context_.navigator.watch_for_run(to_qt(started.second), to_qt(started.first.log),
                                                started.first.process);
      },
      [this](const Error& error) { context_.alerts.add_error(error); });
}

}  // namespace lathe::ui
