#include "ui/pages/new_verdict_panel.h"

#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QTableView>
#include <QVBoxLayout>

#include "core/config/derived.h"
#include "ui/forms/assessment.h"
#include "ui/forms/config_document.h"
#include "ui/forms/live_plot.h"
#include "ui/forms/memory_bar.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_changes_model.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {
constexpr int kTwoColumns = 90 * Theme::grid;
}

QString verdict_sentence(const Assessment& assessment) {
  const Estimate& estimate = assessment.estimate;
  const QString need = bytes_text(estimate.process_bytes()), budget = bytes_text(estimate.budget_bytes);
  const int64_t spare = estimate.budget_bytes - estimate.process_bytes();
  switch (estimate.verdict) {
    case Verdict::Fits:
      return VerdictPanel::tr("Fits: %1 of %2, %3 to spare.").arg(need, budget, bytes_text(spare));
    case Verdict::Tight:
      return VerdictPanel::tr("Tight: %1 of %2. Another program's window may tip it over.").arg(need, budget);
    case Verdict::DoesNotFit:
      return VerdictPanel::tr("Does not fit: %1 needed, %2 allowed, %3 too much.")
          .arg(need, budget, bytes_text(-spare));
    case Verdict::Unknown:
      return VerdictPanel::tr("Needs %1.").arg(need);
  }
  return {};
}

VerdictPanel::VerdictPanel(NewAssessor& assessor, ConfigDocument& document, const Theme& theme,
                           QWidget* parent)
    : QWidget(parent),
      assessor_(assessor),
      document_(document),
      theme_(theme),
      verdict_(new QLabel),
      where_(make_muted({})),
      peak_(make_muted({})),
      speed_(new QLabel),
      record_(make_muted({})),
      changes_note_(make_muted({})),
      bar_(new MemoryBar(theme)),
      legend_(new MemoryLegend(theme)),
      plot_(new LivePlot(theme)),
      model_(new ChangesModel(theme, this)),
      changes_(new QTableView),
      apply_(make_button(tr("Apply"), tr("Apply the selected change; Undo takes it back"))) {
  verdict_->setWordWrap(true);
  verdict_->setAccessibleName(tr("Verdict"));
  verdict_->setFont(Theme::heading_font());
  verdict_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(verdict_, &QLabel::linkActivated, this, &VerdictPanel::setting_asked);
  speed_->setWordWrap(true);

  auto* memory = new Card(tr("Memory"));
  memory->body()->addWidget(verdict_);
  memory->body()->addWidget(bar_);
  memory->body()->addWidget(legend_);
  memory->body()->addWidget(where_);

  auto* step = new Card(tr("Over the step"));
  step->body()->addWidget(plot_, 1);
  step->body()->addWidget(peak_);

  auto* speed = new Card(tr("Speed"));
  speed->body()->addWidget(speed_);
  speed->body()->addWidget(record_);

  auto* table = new Card(tr("What a change would do"));
  apply_->setEnabled(false);
  table->add_to_header(apply_);
  changes_->setModel(model_);
  changes_->setAccessibleName(tr("Changes and what they save and cost"));
  changes_->setSelectionBehavior(QAbstractItemView::SelectRows);
  changes_->setSelectionMode(QAbstractItemView::SingleSelection);
  changes_->setFrameShape(QFrame::NoFrame);
  changes_->setItemDelegate(new CellDelegate(changes_));
  changes_->setShowGrid(false);
  changes_->setTabKeyNavigation(false);
  changes_->verticalHeader()->hide();
  changes_->verticalHeader()->setDefaultSectionSize(changes_->fontMetrics().height() + Theme::grid);
  changes_->horizontalHeader()->setHighlightSections(false);
  changes_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  changes_->horizontalHeader()->setSectionResizeMode(ChangesModel::kName, QHeaderView::Stretch);
  changes_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  changes_->setMinimumHeight(19 * Theme::grid);
  table->body()->addWidget(changes_note_);
  table->body()->addWidget(changes_, 1);

  // One column, or two where there is room (resizeEvent).
  auto* content = new QWidget;
  columns_ = new QBoxLayout(QBoxLayout::TopToBottom, content);
  columns_->setContentsMargins(0, 0, 0, 0);
  columns_->setSpacing(Theme::grid);
  auto* first = new QVBoxLayout;
  first->setSpacing(Theme::grid);
  first->addWidget(step, 1);
  first->addWidget(speed);
  auto* second = new QVBoxLayout;
  second->addWidget(table);
  columns_->addLayout(first, 1);
  columns_->addLayout(second, 1);
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);

  // Verdict and bar stay; what explains them may scroll.
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  layout->addWidget(memory);
  layout->addWidget(scroll, 1);

  connect(&assessor_, &NewAssessor::started, this, &VerdictPanel::show_started);
  connect(&assessor_, &NewAssessor::assessed, this, &VerdictPanel::show_assessment);
  connect(&assessor_, &NewAssessor::refused, this, &VerdictPanel::show_refusal);
  connect(&assessor_, &NewAssessor::changes_ready, this, &VerdictPanel::show_changes);
  connect(&assessor_, &NewAssessor::record_ready, this, &VerdictPanel::show_speed);
  connect(apply_, &QPushButton::clicked, this, &VerdictPanel::apply_change);
  connect(changes_, &QTableView::activated, this, &VerdictPanel::apply_change);
  connect(changes_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          [this] { apply_->setEnabled(changes_->selectionModel()->hasSelection() && !assessor_.pending()); });
  show_started();
}

QString VerdictPanel::verdict_text() const {
  return verdict_->text();
}

void VerdictPanel::resizeEvent(QResizeEvent* event) {
  columns_->setDirection(width() >= kTwoColumns ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  QWidget::resizeEvent(event);
}

void VerdictPanel::set_stale(bool stale) {
  bar_->set_stale(stale);
  legend_->set_stale(stale);
  plot_->set_stale(stale);
  changes_->setEnabled(!stale);
}

void VerdictPanel::show_started() {
  set_stale(true);
  apply_->setEnabled(false);
  const std::vector<Problem> problems = document_.problems();
  if (!problems.empty()) {
    show_problems(problems);
  } else if (!assessor_.assessment()) {
    set_tint(verdict_, Tone::Plain);
    verdict_->setText(tr("Estimating…"));
  }
}

void VerdictPanel::show_problems(const std::vector<Problem>& problems) {
  QStringList lines;
  for (const Problem& problem : problems) {
    if (lines.size() == 4) {
      lines << tr("… and %1 more.").arg(problems.size() - 4);
      break;
    }
    lines << QStringLiteral("<a href=\"%1\" style=\"color:%3\">%2</a>")
                 .arg(to_qt(problem.key), to_qt(problem.message).toHtmlEscaped(), theme_.colors().bad.name());
  }
  set_tint(verdict_, Tone::Bad);
  verdict_->setText(counted_text(static_cast<int64_t>(problems.size()),
                                 tr("1 setting can't be used as it is:"),
                                 tr("%1 settings can't be used as they are:")) +
                    QStringLiteral("<br>") + lines.join(QStringLiteral("<br>")));
  where_->setText(tr("The figures below are those of the last valid settings."));
}

void VerdictPanel::show_refusal(const Error& error) {
  set_tint(verdict_, Tone::Bad);
  verdict_->setText(
      (to_qt(error.what_happened()) + QLatin1Char(' ') + to_qt(error.what_to_do())).toHtmlEscaped());
}

void VerdictPanel::show_assessment() {
  const Assessment& assessment = *assessor_.assessment();
  set_stale(false);
  const Verdict verdict = assessment.estimate.verdict;
  set_tint(verdict_, verdict == Verdict::Fits    ? Tone::Good
                     : verdict == Verdict::Tight ? Tone::Warning
                                                 : Tone::Bad);
  verdict_->setText(verdict_sentence(assessment));
  bar_->show_assessment(assessment);
  legend_->show_assessment(assessment);
  plot_->show_assessment(assessment);
  QString where = to_qt(assessment.device.name);
  if (!assessment.config.memory.vram_budget.automatic) {
    where += tr(" · stated budget %1").arg(bytes_text(assessment.budget));
  } else if (assessment.device.gpu()) {
    where += tr(" · margin %1").arg(bytes_text(assessment.config.memory.vram_margin));
  }
  if (assessment.device.gpu() && !assessment.estimate.overhead_measured) {
    where += tr(" · driver and libraries assumed, not yet measured here");
  }
  where_->setText(where);
  peak_->setText(tr("Fullest at %1: %2 live.")
                     .arg(to_qt(assessment.estimate.peak_op), bytes_text(assessment.estimate.peak.bytes)));
  changes_note_->setText(tr("Working out single changes…"));
  show_speed();
}

void VerdictPanel::show_speed() {
  if (!assessor_.assessment()) return;
  const Assessment& assessment = *assessor_.assessment();
  const PredictionRecord& record = assessor_.record();
  const Estimate& estimate = assessment.estimate;
  const double extra = estimate.executed_flops_per_token / estimate.model_flops_per_token - 1;
  QStringList lines;
  if (record.measured_speed) {
    lines << tr("<b>%1 tokens/s</b> measured here in run %2 (nominal, step only).")
                 .arg(number_text(*record.measured_speed, 0), record.measured_run.toHtmlEscaped());
  }
  if (estimate.tokens_per_s > 0) {
    lines << tr("<b>%1 tokens/s predicted</b> (nominal, step only), %2 an update: %3.")
                 .arg(number_text(estimate.tokens_per_s, 0), duration_text(estimate.time.seconds),
                      estimate.calibrated ? tr("%1 of the time in operations timed on this GPU")
                                                .arg(percent_text(estimate.time.timed_share))
                                          : tr("uncalibrated, from the card's specification"));
  } else if (!record.measured_speed) {
    lines << tr("<b>Tokens/s: not measured yet</b> for these settings on this device.");
  }
  QString text = lines.join(QStringLiteral("<br>"));
  text += QStringLiteral("<br>") +
          tr("%1 GFLOP a token in the model, %2 executed%3.")
              .arg(number_text(estimate.model_flops_per_token / 1e9, 3),
                   number_text(estimate.executed_flops_per_token / 1e9, 3),
                   extra > 0.0005 ? tr(" (%1 recomputed)").arg(percent_text(extra, 1)) : QString());
  if (assessment.device.bf16_tflops > 0 && assessment.config.precision.compute == Compute::Bf16) {
    const double peak = assessment.device.bf16_tflops * 1e12;
    text += QStringLiteral("<br>") +
            tr("Never faster than %1 tokens/s: the card's published peak, %2 TFLOP/s in BF16.")
                .arg(number_text(peak / estimate.executed_flops_per_token, 0),
                     number_text(assessment.device.bf16_tflops, 0));
    const double speed = record.measured_speed.value_or(estimate.tokens_per_s);
    if (speed > 0) {
      text +=
          QStringLiteral("<br>") + tr("MFU %1: the model's FLOPs at that speed, over the peak.")
                                       .arg(percent_text(speed * estimate.model_flops_per_token / peak, 1));
    }
  }
  speed_->setText(text);
  if (!assessment.device.here) {
    record_->setText(tr("This device is not in this machine: its predictions have no record here."));
  } else if (!assessment.device.gpu()) {
    record_->setText(tr("On the CPU the process is larger than the plan: the program itself counts, too."));
  } else if (record.past.peak.runs == 0) {
    record_->setText(tr("Predictions on this device: no finished run to compare with yet."));
  } else {
    const auto signed_percent = [](double error) {
      return (error < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + percent_text(std::abs(error), 1);
    };
    QString past = tr("Past runs on this device, median of %n: memory %1", nullptr, record.past.peak.runs)
                       .arg(signed_percent(record.past.peak.median));
    if (record.past.speed.runs > 0) past += tr(", tokens/s %1").arg(signed_percent(record.past.speed.median));
    record_->setText(past + tr(" against what was predicted."));
  }
}

void VerdictPanel::show_changes() {
  model_->set_changes(assessor_.changes());
  apply_->setEnabled(false);
  const bool none = assessor_.changes().empty();
  const bool over = assessor_.assessment()->estimate.verdict == Verdict::DoesNotFit;
  changes_note_->setText(
      none   ? over ? tr("No single change saves memory here: make the model or the context smaller.")
                    : tr("Nothing to gain from a single change.")
        : over ? tr("Single changes that save memory; the best ones first. * changes the maths.")
             : tr("Single changes that save work or memory, or fill the card. * changes the maths."));
}

void VerdictPanel::apply_change() {
  const QModelIndexList rows = changes_->selectionModel()->selectedRows();
  if (rows.isEmpty() || assessor_.pending()) return;
  const ProposedChange change = model_->at(rows.front().row());
  document_.apply(change.config, tr("apply %1").arg(to_qt(change.name)));
}

}  // namespace lathe::ui
