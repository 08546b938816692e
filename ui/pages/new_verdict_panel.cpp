#include "ui/pages/new_verdict_panel.h"

#include <QLabel>
#include <QScrollArea>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>

#include "core/config/derived.h"
#include "ui/forms/assessment.h"
#include "ui/forms/config_document.h"
#include "ui/forms/live_plot.h"
#include "ui/forms/memory_bar.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_changes_card.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {
constexpr int kTwoColumns = 80 * Theme::grid;
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

QString record_table(const PredictionRecord& record) {
  constexpr size_t kShown = 5;
  if (record.past.runs.empty()) return {};
  const auto row = [](const QStringList& cells, const char* tag) {
    QString text;
    for (const QString& cell : cells)
      text += QStringLiteral("<%1 align=\"%2\">%3</%1>")
                  .arg(QLatin1String(tag), text.isEmpty() ? QStringLiteral("left") : QStringLiteral("right"),
                       cell);
    return QStringLiteral("<tr>%1</tr>").arg(text);
  };
  const auto bytes = [](int64_t value) { return value > 0 ? bytes_text(value) : no_value(); };
  const auto speed = [](double value) { return value > 0 ? number_text(value, 0) : no_value(); };
  QString rows =
      row({VerdictPanel::tr("Run"), VerdictPanel::tr("Memory predicted"), VerdictPanel::tr("measured"),
           VerdictPanel::tr("Tokens/s predicted"), VerdictPanel::tr("measured")},
          "th");
  for (size_t i = 0; i < std::min(record.past.runs.size(), kShown); ++i) {
    const PastRun& run = record.past.runs[i];
    rows +=
        row({to_qt(run.name).toHtmlEscaped(), bytes(run.planned_peak_bytes), bytes(run.measured_peak_bytes),
             speed(run.predicted_tokens_per_s), speed(run.measured_tokens_per_s)},
            "td");
  }
  return QStringLiteral("<table cellspacing=\"6\">%1</table>").arg(rows);
}

VerdictPanel::VerdictPanel(NewAssessor& assessor, ConfigDocument& document, const Theme& theme,
                           QWidget* parent)
    : QWidget(parent),
      assessor_(assessor),
      document_(document),
      theme_(theme),
      verdict_(new QLabel),
      where_(make_muted({})),
      speed_(new QLabel),
      record_(make_muted({})),
      peak_(make_muted({})),
      bar_(new MemoryBar(theme)),
      legend_(new MemoryLegend(theme)),
      plot_(new LivePlot(theme)),
      changes_(new ChangesCard(assessor, document, theme)) {
  verdict_->setWordWrap(true);
  verdict_->setAccessibleName(tr("Verdict"));
  verdict_->setFont(Theme::heading_font());
  verdict_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(verdict_, &QLabel::linkActivated, this, &VerdictPanel::setting_asked);
  speed_->setWordWrap(true);
  record_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(record_, &QLabel::linkActivated, this, [this] {
    QToolTip::showText(record_->mapToGlobal(QPoint(0, record_->height())), record_->toolTip(), record_);
  });

  auto* memory = new Card(tr("Memory and speed"));
  memory->body()->addWidget(verdict_);
  memory->body()->addWidget(bar_);
  memory->body()->addWidget(legend_);
  memory->body()->addWidget(where_);
  memory->body()->addWidget(speed_);
  memory->body()->addWidget(record_);

  auto* step = new Card(tr("Over the step"));
  step->body()->addWidget(plot_, 100);
  step->body()->addWidget(peak_);
  step->body()->addStretch(1);

  // Changes, then the step; beside one another where there is room (resizeEvent).
  auto* content = new QWidget;
  columns_ = new QBoxLayout(QBoxLayout::TopToBottom, content);
  columns_->setContentsMargins(0, 0, 0, 0);
  columns_->setSpacing(Theme::grid);
  columns_->addWidget(changes_, 5);
  columns_->addWidget(step, 3);
  scroll_ = make_scroll_column(content);
  connect(changes_, &ChangesCard::row_reached, this, [this](const QRect& row) {
    const QPoint at = changes_->mapTo(scroll_->widget(), row.center());
    scroll_->ensureVisible(at.x(), at.y(), 0, row.height());
  });

  // Verdict, bar and speed stay; what explains them may scroll.
  auto* top = new QVBoxLayout;
  top->setContentsMargins(0, 0, scroll_bar_width(), 0);
  top->addWidget(memory);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  layout->addLayout(top);
  layout->addWidget(scroll_, 1);

  connect(&assessor_, &NewAssessor::started, this, &VerdictPanel::show_started);
  connect(&assessor_, &NewAssessor::assessed, this, &VerdictPanel::show_assessment);
  connect(&assessor_, &NewAssessor::refused, this, &VerdictPanel::show_refusal);
  connect(&assessor_, &NewAssessor::record_ready, this, &VerdictPanel::show_speed);
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
}

void VerdictPanel::show_started() {
  set_stale(true);
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
  where_->show();
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
  QStringList where;
  if (!assessment.config.memory.vram_budget.automatic) {
    where << tr("Stated budget %1").arg(bytes_text(assessment.budget));
  } else if (assessment.device.gpu()) {
    where << tr("Margin %1").arg(bytes_text(assessment.config.memory.vram_margin));
  }
  if (assessment.device.gpu() && !assessment.estimate.overhead_measured)
    where << tr("driver and libraries assumed, not measured here");
  where_->setText(where.join(QStringLiteral(" · ")));
  where_->setVisible(!where.isEmpty());
  peak_->setText(tr("Fullest at %1: %2 live.")
                     .arg(to_qt(assessment.estimate.peak_op), bytes_text(assessment.estimate.peak.bytes)));
  show_speed();
}

// Two lines: how fast, and how far that can be trusted. What the figures mean is in the tips.
void VerdictPanel::show_speed() {
  if (!assessor_.assessment()) return;
  const Assessment& assessment = *assessor_.assessment();
  const PredictionRecord& record = assessor_.record();
  const Estimate& estimate = assessment.estimate;
  QStringList parts, trust;
  if (record.measured_speed) {
    parts << tr("<b>%1 tokens/s</b> measured in run %2")
                 .arg(number_text(*record.measured_speed, 0), record.measured_run.toHtmlEscaped());
  }
  if (estimate.tokens_per_s > 0) {
    parts << tr("<b>%1 tokens/s</b> predicted").arg(number_text(estimate.tokens_per_s, 0));
    trust << tr("%1 an update").arg(duration_text(estimate.time.seconds));
    trust << (estimate.calibrated ? tr("%1 of the time in operations timed on this GPU")
                                        .arg(percent_text(estimate.time.timed_share))
                                  : tr("uncalibrated, from the card's specification"));
  }
  const double speed = record.measured_speed.value_or(estimate.tokens_per_s);
  const double extra = estimate.executed_flops_per_token / estimate.model_flops_per_token - 1;
  QString tip =
      tr("Tokens/s are nominal and of the steps alone. %1 GFLOP a token in the model, %2 executed%3.")
          .arg(number_text(estimate.model_flops_per_token / 1e9, 3),
               number_text(estimate.executed_flops_per_token / 1e9, 3),
               extra > 0.0005 ? tr(" (%1 recomputed)").arg(percent_text(extra, 1)) : QString());
  if (assessment.device.bf16_tflops > 0 && assessment.config.precision.compute == Compute::Bf16) {
    const double peak = assessment.device.bf16_tflops * 1e12;
    if (speed > 0)
      parts << tr("<b>MFU %1</b>").arg(percent_text(speed * estimate.model_flops_per_token / peak, 1));
    tip +=
        QLatin1Char(' ') +
        tr("MFU is the model's FLOPs at that speed over the card's published peak, %1 TFLOP/s in BF16, which "
           "allows %2 tokens/s at most.")
            .arg(number_text(assessment.device.bf16_tflops, 0),
                 number_text(peak / estimate.executed_flops_per_token, 0));
  }
  speed_->setText(parts.isEmpty() ? tr("<b>Tokens/s not known</b> for these settings on this device")
                                  : parts.join(QStringLiteral(" · ")));
  speed_->setToolTip(QStringLiteral("<p>%1</p>").arg(tip));
  speed_->setAccessibleDescription(tip);

  const auto signed_percent = [](double error) {
    return (error < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + percent_text(std::abs(error), 1);
  };
  if (!assessment.device.here) {
    trust << tr("not in this machine, so without a record");
  } else if (!assessment.device.gpu()) {
    trust << tr("on the CPU the program itself takes memory, too");
  } else if (record.past.runs.empty()) {
    trust << tr("no finished run to compare with yet");
  } else {
    QStringList errors;
    if (record.past.peak.runs > 0) errors << tr("memory %1").arg(signed_percent(record.past.peak.median));
    if (record.past.speed.runs > 0) errors << tr("tokens/s %1").arg(signed_percent(record.past.speed.median));
    trust << tr("<a href=\"runs\">past runs</a> against their prediction: %1")
                 .arg(errors.join(QStringLiteral(", ")));
  }
  QString line = trust.join(QStringLiteral(" · "));
  if (line.front() != QLatin1Char('<')) line.front() = line.front().toUpper();
  record_->setText(line);
  record_->setToolTip(record_table(record));
}

}  // namespace lathe::ui
