#include "ui/pages/system_page.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDesktopServices>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QProcess>
#include <QPushButton>
#include <QScrollArea>
#include <QTextBrowser>
#include <QUrl>
#include <QVBoxLayout>

#include "core/history/history_store.h"
#include "core/platform/home.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/desktop/desktop_integration.h"
#include "ui/launch.h"
#include "ui/own_session.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/follow.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

SystemPage::SystemPage(AppContext& context, QWidget* parent)
    : Page(context, Place::System, parent), scale_at_start_(context.preferences.scale()) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(2 * Theme::grid, Theme::grid, 2 * Theme::grid, Theme::grid);
  layout->setSpacing(Theme::grid);
  auto* title = make_title(tr("System"));
  layout->addWidget(title);
  auto* row = new QHBoxLayout;
  row->setSpacing(2 * Theme::grid);
  row->addWidget(make_report(), 3);
  title->setMinimumHeight(again_->sizeHint().height());  // as where buttons stand beside the title
  row->addWidget(make_preferences(), 2);
  layout->addLayout(row, 1);
  follow_theme(context.theme, this, [this] { show_report(); });
}

SystemPage::~SystemPage() {
  if (doctor_ == nullptr) return;
  doctor_->disconnect(this);
  doctor_->kill();
  doctor_->waitForFinished(1000);
}

void SystemPage::activated() {
  refresh();
  if (checks_.lines.empty()) check(false);
}

QWidget* SystemPage::make_report() {
  auto* card = new Card(tr("This machine"));
  again_ =
      make_button(tr("Check again"),
                  tr("Runs every check of `lathe doctor` and measures the device's rates: up to a minute. "
                     "Rates are left out while a run trains in this window."));
  auto* copy = make_button(tr("Copy"), tr("The report as text, for an issue or a question"));
  card->add_to_header(again_);
  card->add_to_header(copy);
  view_ = new QTextBrowser;
  view_->setAccessibleName(tr("Report on this machine"));
  view_->setFrameShape(QFrame::NoFrame);
  card->body()->addWidget(view_, 1);
  connect(again_, &QPushButton::clicked, this, [this] {
    refresh();
    check(!context().session.active());
  });
  connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(report()); });
  return card;
}

QWidget* SystemPage::make_preferences() {
  Preferences& preferences = context().preferences;
  auto* card = new Card(tr("Preferences"));
  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  form->setVerticalSpacing(Theme::grid + 4);

  auto* appearance = new QComboBox;
  appearance->setObjectName(QStringLiteral("appearance"));
  appearance->addItems({tr("As the desktop"), tr("Light"), tr("Dark")});
  appearance->setCurrentIndex(static_cast<int>(preferences.appearance()));
  appearance->setAccessibleName(tr("Appearance"));
  connect(appearance, &QComboBox::currentIndexChanged, this,
          [&preferences](int index) { preferences.set_appearance(static_cast<Appearance>(index)); });
  form->addRow(tr("Appearance"), appearance);

  auto* scale = new QComboBox;
  scale->setObjectName(QStringLiteral("scale"));
  scale->setAccessibleName(tr("Scale"));
  for (const double factor : {0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0}) {
    scale->addItem(percent_text(factor), factor);
    if (std::abs(factor - preferences.scale()) < 0.01) scale->setCurrentIndex(scale->count() - 1);
  }
  scale->setToolTip(tr("On top of the system's own scale. WSLg has no fractional scaling: set it here."));
  restart_ = make_muted(tr("The new scale is used from the next start on."));
  restart_->hide();
  connect(scale, &QComboBox::currentIndexChanged, this, [this, scale, &preferences] {
    preferences.set_scale(scale->currentData().toDouble());
    restart_->setVisible(std::abs(preferences.scale() - scale_at_start_) > 0.01);
  });
  form->addRow(tr("Scale"), scale);
  form->addRow(QString(), restart_);

  auto* notify = new QCheckBox(tr("Notify on the desktop"));
  notify->setChecked(preferences.notifications());
  notify->setToolTip(tr("When a run ends or needs you and this window is not in front"));
  connect(notify, &QCheckBox::toggled, this, [&preferences](bool on) { preferences.set_notifications(on); });
  form->addRow(QString(), notify);
  auto* awake = new QCheckBox(tr("No sleep while training"));
  awake->setChecked(preferences.keep_awake());
  connect(awake, &QCheckBox::toggled, this, [&preferences](bool on) { preferences.set_keep_awake(on); });
  form->addRow(QString(), awake);

  auto* readings = new QComboBox;
  readings->setObjectName(QStringLiteral("readings"));
  readings->setAccessibleName(tr("Readings of the device"));
  readings->setToolTip(
      tr("How often temperature, power, clocks and memory go into a run's history while it trains"));
  for (const double seconds : {0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0}) {
    readings->addItem(tr("every %1 s").arg(QLocale().toString(seconds)), seconds);
    if (seconds <= preferences.telemetry_every_s()) readings->setCurrentIndex(readings->count() - 1);
  }
  connect(readings, &QComboBox::currentIndexChanged, this, [readings, &preferences] {
    preferences.set_telemetry_every_s(readings->currentData().toDouble());
  });
  form->addRow(tr("Readings"), readings);

  const auto folder_row = [&](const QString& name, ElidedLabel* label,
                              std::initializer_list<QPushButton*> buttons) {
    auto* row = new QWidget;
    auto* line = new QHBoxLayout(row);
    line->setContentsMargins(0, 0, 0, 0);
    line->addWidget(label, 1);
    for (QPushButton* button : buttons) line->addWidget(button);
    auto* name_label = new QLabel(name);
    name_label->setMinimumHeight((*buttons.begin())->sizeHint().height());
    form->addRow(name_label, row);
  };
  auto* data_label = new ElidedLabel(preferences.data_folder());
  auto* choose = make_button(tr("Change…"), tr("Where new datasets are written"));
  folder_row(tr("Datasets"), data_label, {choose});
  connect(choose, &QPushButton::clicked, this, [this, data_label, &preferences] {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Folder of datasets"), preferences.data_folder());
    if (folder.isEmpty()) return;
    preferences.set_data_folder(folder);
    data_label->set_text(folder);
    refresh();
  });
  history_ = new ElidedLabel(to_qt(context().home));
  history_->setObjectName(QStringLiteral("history_folder"));
  auto* open = make_button(tr("Open"), tr("Show the folder of history and runs"));
  auto* move = make_button(tr("Change…"), tr("Another folder for history and runs, from the next start on. "
                                             "What is there now stays there."));
  folder_row(tr("History"), history_, {open, move});
  connect(move, &QPushButton::clicked, this, [this] {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Folder of history and runs"), to_qt(context().home));
    if (!folder.isEmpty()) choose_history(folder);
  });
  connect(open, &QPushButton::clicked, this,
          [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(to_qt(context().home))); });

  card->body()->addLayout(form);
  card->body()->addSpacing(Theme::grid);
  card->body()->addWidget(new QLabel(tr("What the desktop offers")));
  card->body()->addWidget(make_muted(context().desktop.abilities().join(QLatin1Char('\n'))));
  card->body()->addStretch(1);
  return card;
}

void SystemPage::refresh() {
  job_.run([home = context().home,
            data = to_path(context().preferences.data_folder())] { return system_report(home, data); },
           [this](std::vector<ReportSection> sections) {
             sections_ = std::move(sections);
             show_report();
           });
}

// A history can't live everywhere: opening one there tells.
void SystemPage::choose_history(const QString& folder) {
  choosing_.run(
      [folder = to_path(folder)] {
        const HistoryStore probe(folder);
        choose_home(folder);
        return folder;
      },
      [this](const std::filesystem::path& chosen) {
        history_->set_text(tr("%1, from the next start on").arg(to_qt(chosen)));
      },
      [this](const Error& error) { context().alerts.add_error(error); });
}

// `lathe doctor` as a process of its own: what the command line says, the window says.
void SystemPage::check(bool measure) {
  if (doctor_ != nullptr) return;
  auto* doctor = new QProcess(this);
  try {
    doctor->setProgram(lathe_program());
  } catch (const Error& error) {
    delete doctor;
    show_checks(
        {tr("Checks"),
         {{tr("doctor"), to_qt(error.what_happened()), to_qt(error.what_to_do()), ReportLine::Mark::Bad}}});
    return;
  }
  QStringList arguments{QStringLiteral("--home"), to_qt(context().home), QStringLiteral("--json"),
                        QStringLiteral("doctor")};
  if (!measure) arguments << QStringLiteral("--quick");
  doctor->setArguments(arguments);
  doctor->setStandardInputFile(QProcess::nullDevice());
  doctor_ = doctor;
  const auto ended = [this, doctor] {
    if (doctor_ != doctor) return;
    doctor_ = nullptr;
    doctor->deleteLater();
    again_->setEnabled(true);
    ReportSection checks = doctor_section(doctor->readAllStandardOutput());
    if (checks.lines.empty()) {
      const QString words = QString::fromUtf8(doctor->readAllStandardError()).trimmed();
      checks.lines.push_back(
          {tr("doctor"), words.isEmpty() ? doctor->errorString() : words, {}, ReportLine::Mark::Bad});
    }
    show_checks(std::move(checks));
  };
  connect(doctor, &QProcess::errorOccurred, this, ended);
  connect(doctor, &QProcess::finished, this, ended);
  again_->setEnabled(false);
  show_checks({tr("Checks"), {{tr("doctor"), measure ? tr("Measuring…") : tr("Checking…")}}});
  doctor->start();
}

void SystemPage::show_checks(ReportSection checks) {
  checks_ = std::move(checks);
  show_report();
}

QString SystemPage::report() const {
  std::vector<ReportSection> all = {checks_};
  all.insert(all.end(), sections_.begin(), sections_.end());
  return report_text(all);
}

void SystemPage::show_report() {
  const Colors& colors = context().theme.colors();
  std::vector<ReportSection> all = {checks_};
  all.insert(all.end(), sections_.begin(), sections_.end());
  QString html = QStringLiteral("<table cellspacing='0' cellpadding='3' width='100%'>");
  for (const ReportSection& section : all) {
    html += QStringLiteral("<tr><td colspan='2'><b>%1</b></td></tr>").arg(section.title.toHtmlEscaped());
    for (const ReportLine& line : section.lines) {
      const QColor color = line.mark == ReportLine::Mark::Good      ? colors.good
                           : line.mark == ReportLine::Mark::Warning ? colors.warning
                           : line.mark == ReportLine::Mark::Bad     ? colors.bad
                                                                    : colors.text;
      QString name = line.name.toHtmlEscaped();
      if (name.startsWith(QLatin1String("  "))) name = QStringLiteral("&nbsp;&nbsp;&nbsp;") + name.trimmed();
      html +=
          QStringLiteral("<tr><td width='34%' style='color:%1'>%2</td><td style='color:%3'>%4%5</td></tr>")
              .arg(colors.muted.name(), name, color.name(), line.value.toHtmlEscaped(),
                   line.advice.isEmpty() ? QString()
                                         : QStringLiteral("<br><span style='color:%1'>%2</span>")
                                               .arg(colors.muted.name(), line.advice.toHtmlEscaped()));
    }
    html += QStringLiteral("<tr><td colspan='2'>&nbsp;</td></tr>");
  }
  view_->setHtml(html + QStringLiteral("</table>"));
}

}  // namespace lathe::ui
