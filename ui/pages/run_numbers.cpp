#include "ui/pages/run_numbers.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "core/config/config_json.h"
#include "core/config/derived.h"
#include "core/model/parameters.h"
#include "core/platform/process.h"
#include "core/program/gpu_table.h"
#include "kernels/api/error.h"
#include "ui/app_context.h"
#include "ui/charts/chart_types.h"
#include "ui/models/run_text.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr double kEndToEndWeight = 0.9;

}  // namespace

ThinBar::ThinBar(const Theme& theme, const QString& name, QWidget* parent) : QWidget(parent), theme_(theme) {
  setFixedHeight(4);
  setAccessibleName(name);
  setToolTip(name);
}

void ThinBar::set_fraction(double fraction) {
  fraction_ = std::clamp(fraction, 0.0, 1.0);
  setAccessibleDescription(percent_text(fraction_));
  update();
}

void ThinBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.colors().border);
  painter.drawRoundedRect(rect(), 2, 2);
  painter.setBrush(theme_.colors().accent);
  painter.drawRoundedRect(QRectF(0, 0, width() * fraction_, height()), 2, 2);
}

RunNumbers::RunNumbers(AppContext& context, QWidget* parent) : QWidget(parent) {
  auto* tiles = new QHBoxLayout;
  tiles->setSpacing(Theme::grid);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid / 2);
  layout->addLayout(tiles);
  setLayout(layout);
  step_ = add_tile(tr("Step"), tr("Updates made, of those the run is to make"));
  loss_ = add_tile(tr("Training loss"), to_qt(lathe::metric("loss").definition) + tr(" In nats per token."));
  speed_ = add_tile(tr("Tokens/s (nominal)"),
                    tr("Large: median of the last 64 updates. %1\nSmall: moving average. %2")
                        .arg(to_qt(lathe::metric("tokens_per_s").definition),
                             to_qt(lathe::metric("tokens_per_s_end_to_end").definition)));
  mfu_ = add_tile(tr("MFU"), tr("Model FLOPs utilisation: the model's FLOPs at that speed, recomputation not "
                                "counted, over the card's published BF16 peak"));
  time_ = add_tile(tr("Time left"), tr("From the pace of this session after its warm-up"));
  memory_ = add_tile(tr("Memory"), to_qt(lathe::metric("memory_process").definition));

  run_progress_ = new ThinBar(context.theme, tr("Progress of the run"), this);
  progress_ = new ThinBar(context.theme, tr("Progress inside the update"), this);
  progress_->setFixedWidth(15 * Theme::grid);
  phase_ = make_muted({}, this);
  phase_->setWordWrap(false);
  auto* line = new QHBoxLayout;
  line->setSpacing(Theme::grid);
  line->addWidget(run_progress_, 1, Qt::AlignVCenter);
  line->addStretch();  // where there is no bar
  line->addWidget(progress_, 0, Qt::AlignVCenter);
  line->addWidget(phase_);
  layout->addLayout(line);
  clear();
}

std::vector<std::string> RunNumbers::metrics() {
  return {"loss", "tokens_per_s", "tokens_per_s_end_to_end", "memory_process"};
}

RunNumbers::Tile RunNumbers::add_tile(const QString& caption, const QString& tip) {
  auto* card = new QFrame(this);
  card->setFrameShape(QFrame::StyledPanel);
  card->setToolTip(tip);
  Tile tile{card, make_muted(caption, card), new QLabel(card), make_muted({}, card)};
  tile.value->setFont(Theme::number_font(17));
  tile.value->setTextInteractionFlags(Qt::TextSelectableByMouse);
  for (QLabel* label : {tile.caption, tile.detail}) label->setWordWrap(false);
  for (QLabel* label : {tile.caption, tile.value, tile.detail})
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  auto* layout = new QVBoxLayout(card);
  layout->setContentsMargins(12, 6, 12, 6);
  layout->setSpacing(0);
  layout->addWidget(tile.caption);
  layout->addWidget(tile.value);
  layout->addWidget(tile.detail);
  static_cast<QHBoxLayout*>(this->layout()->itemAt(0)->layout())->addWidget(card, 1);
  return tile;
}

void RunNumbers::clear() {
  details_.reset();
  live_.reset();
  last_loss_.reset();
  memory_now_.reset();
  end_to_end_ = end_to_end_weight_ = 0;
  show_numbers();
  show_progress();
}

void RunNumbers::take(const FeedPoints& points) {
  const size_t count = points.size();
  if (count == 0) return;
  const double last = points.y(count - 1);
  if (points.metric == "loss") last_loss_ = last;
  if (points.metric == "memory_process" && std::isfinite(last)) memory_now_ = last;
  if (points.metric != "tokens_per_s_end_to_end") return;
  constexpr size_t enough = 64;  // 0.9^64 is a thousandth
  for (size_t i = count > enough ? count - enough : 0; i < count; ++i) {
    const double value = points.y(i);
    if (!std::isfinite(value)) continue;
    end_to_end_ = kEndToEndWeight * end_to_end_ + (1 - kEndToEndWeight) * value;
    end_to_end_weight_ = kEndToEndWeight * end_to_end_weight_ + (1 - kEndToEndWeight);
  }
}

void RunNumbers::take(const RunDetails& run) {
  if (!details_ || details_->settings_json != run.settings_json) {
    last_update_.reset();
    flops_per_token_ = peak_flops_ = 0;
    if (!run.settings_json.empty()) {
      try {
        const RunConfig config = from_json_text(run.settings_json, {}, "the history");
        const GpuEntry* gpu = find_gpu(run.device);
        last_update_ = last_update(config);
        flops_per_token_ = model_flops_per_token(config);
        if (gpu != nullptr && config.precision.compute == Compute::Bf16)
          peak_flops_ = gpu->bf16_tflops * 1e12;
      } catch (const Error&) {
        // Settings that this build doesn't know: the numbers that need none stay.
      }
    }
  }
  details_ = run;
}

void RunNumbers::apply(const RunDelta& delta) {
  if (delta.restart) {
    last_loss_.reset();
    memory_now_.reset();
    end_to_end_ = end_to_end_weight_ = 0;
  }
  if (delta.details) take(*delta.details);
  if (delta.live) live_ = delta.live;
  for (const FeedPoints& points : delta.points) take(points);
  show_numbers();
  show_progress();
}

void RunNumbers::show_numbers() {
  const auto set = [](const Tile& tile, const QString& value, const QString& detail) {
    tile.value->setText(value);
    tile.detail->setText(detail);
    tile.value->setAccessibleName(tile.caption->text() + QStringLiteral(": ") + value);
  };
  if (!details_) {
    for (const Tile* tile : {&step_, &loss_, &speed_, &mfu_, &time_, &memory_}) set(*tile, no_value(), {});
    mfu_known_ = false;
    show_mfu();
    return;
  }
  const RunDetails& run = *details_;
  const int64_t step = live_ ? std::max(run.step, live_->step) : run.step;
  set(step_, count_text(step),
      last_update_     ? tr("of %1").arg(count_text(*last_update_))
      : run.tokens > 0 ? tr("%1 tokens").arg(quantity_text(static_cast<double>(run.tokens), Quantity::Count))
                       : QString());

  const std::optional<double> loss = last_loss_ ? last_loss_ : run.last_loss;
  const QString best = run.best_loss ? tr("best %1").arg(optional_text(run.best_loss, 4)) : QString();
  set(loss_, optional_text(loss, 4),
      run.last_eval_loss ? tr("validation %1").arg(optional_text(run.last_eval_loss, 4)) : best);
  loss_.detail->setToolTip(best);
  set_tone(loss_.value, loss && !std::isfinite(*loss) ? Tone::Bad : Tone::Plain);

  QStringList speeds;
  if (end_to_end_weight_ > 0) {
    speeds << tr("end to end %1").arg(quantity_text(end_to_end_ / end_to_end_weight_, Quantity::Count));
  }
  if (run.predicted_tokens_per_s) {
    speeds << tr("predicted %1").arg(quantity_text(*run.predicted_tokens_per_s, Quantity::Count));
  }
  set(speed_, run.tokens_per_s ? quantity_text(*run.tokens_per_s, Quantity::Count) : no_value(),
      speeds.join(QStringLiteral(" · ")));
  mfu_known_ = run.tokens_per_s && flops_per_token_ > 0 && peak_flops_ > 0;
  if (mfu_known_) {
    set(mfu_, percent_text(*run.tokens_per_s * flops_per_token_ / peak_flops_, 1),
        tr("of %1 TFLOP/s").arg(number_text(peak_flops_ / 1e12, 0)));
  }
  speed_.value->setToolTip(mfu_known_ ? tr("MFU %1").arg(mfu_.value->text()) : QString());
  show_mfu();

  const QString trained = duration_text(static_cast<double>(run.active_ms) / 1000);
  if (is_active(run.status)) {
    time_.caption->setText(tr("Time left"));
    set(time_,
        live_ && live_->eta_ms ? duration_text(static_cast<double>(*live_->eta_ms) / 1000) : no_value(),
        tr("trained for %1").arg(trained));
  } else {
    time_.caption->setText(tr("Training time"));
    set(time_, run.active_ms > 0 ? trained : no_value(),
        run.finished_ms ? tr("until %1").arg(date_time_text(*run.finished_ms).chopped(3)) : QString());
  }

  const bool active = is_active(run.status);
  memory_.caption->setText(active ? tr("Memory (process)") : tr("Peak memory (process)"));
  const std::optional<int64_t> held =
      active && memory_now_ ? std::optional(static_cast<int64_t>(*memory_now_)) : run.measured_peak_bytes;
  set(memory_, optional_bytes(held),
      run.planned_peak_bytes ? tr("planned %1").arg(bytes_text(*run.planned_peak_bytes)) : QString());
  memory_.value->setToolTip(to_qt(lathe::metric("memory_process").definition) + QLatin1Char('\n') +
                            memory_source_text(run.memory_source));
}

// Where there is room for a sixth tile; else the tip of tokens/s has it.
void RunNumbers::show_mfu() {
  constexpr int enough = 1150;
  mfu_.card->setVisible(mfu_known_ && width() >= enough);
}

void RunNumbers::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  show_mfu();
}

void RunNumbers::show_progress() {
  const bool active = details_ && is_active(details_->status) && live_;
  const bool parts = active && live_->micro_steps > 1;
  run_progress_->setVisible(active && last_update_);
  progress_->setVisible(parts);
  phase_->setVisible(active);
  if (!active) return;
  const auto fraction = [](int64_t done, int64_t all) {
    return static_cast<double>(done) / static_cast<double>(all);
  };
  if (last_update_)
    run_progress_->set_fraction(fraction(std::max(details_->step, live_->step), *last_update_));
  QStringList words;
  if (parts) {
    progress_->set_fraction(fraction(live_->micro_step, live_->micro_steps));
    words << tr("micro-step %1 of %2").arg(live_->micro_step).arg(live_->micro_steps);
  }
  if (!live_->phase.empty() && live_->phase != "micro-step") words << to_qt(live_->phase);
  QString text = words.join(QStringLiteral(" · "));
  constexpr int64_t silent_ms = 30'000;
  const int64_t silence = wall_clock_ms() - live_->heartbeat_ms;
  if (live_->state == RunStatus::Running && live_->heartbeat_ms > 0 && silence > silent_ms) {
    text = tr("no sign of life for %1").arg(duration_text(static_cast<double>(silence) / 1000));
  }
  phase_->setText(text);
}

}  // namespace lathe::ui
