#include "ui/pages/run_try_tab.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "core/train/training_run.h"
#include "ui/app_context.h"
#include "ui/devices.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr qint64 kLive = -1;

struct Request {
  std::string run;  // RUN@STEP
  std::string prompt;
  int64_t tokens = 0;
  SamplingSettings sampling;
};

// On a worker: loads the checkpoint beside whatever else runs and writes.
void write_text(HistoryStore& history, const BackendRegistry& registry, const Request& request,
                const std::function<bool(const std::string&)>& on_text) {
  open_text_model(history, registry, request.run)
      .generate(request.prompt, request.tokens, request.sampling, on_text);
}

}  // namespace

RunTryTab::RunTryTab(AppContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  source_ = new QComboBox(this);
  source_->setAccessibleName(tr("Weights"));
  source_->setToolTip(tr("Which weights write: those at work in the run, or a checkpoint, loaded beside it"));
  prompt_ = new QPlainTextEdit(this);
  prompt_->setPlaceholderText(tr("Text to go on with. Empty: the start of a document"));
  prompt_->setAccessibleName(tr("Prompt"));
  prompt_->setTabChangesFocus(true);
  prompt_->setMaximumHeight(88);
  output_ = new QPlainTextEdit(this);
  output_->setReadOnly(true);
  output_->setAccessibleName(tr("What the model wrote"));
  output_->setPlaceholderText(tr("The text appears here as it is written"));
  length_ = new QSpinBox(this);
  length_->setRange(1, 100'000);
  length_->setValue(200);
  length_->setSuffix(tr(" tokens"));
  temperature_ = new QDoubleSpinBox(this);
  temperature_->setRange(0, 5);
  temperature_->setSingleStep(0.1);
  temperature_->setValue(0.8);
  temperature_->setToolTip(tr("0: always the likeliest token; larger: more surprising"));
  top_k_ = new QSpinBox(this);
  top_k_->setRange(0, 100'000);
  top_k_->setSpecialValueText(tr("all"));
  top_k_->setToolTip(tr("Choose among the k likeliest tokens"));
  top_p_ = new QDoubleSpinBox(this);
  top_p_->setRange(0.01, 1);
  top_p_->setSingleStep(0.05);
  top_p_->setValue(0.95);
  top_p_->setToolTip(tr("Choose among the fewest tokens that hold this probability"));
  seed_ = new QSpinBox(this);
  seed_->setRange(0, 1'000'000'000);
  seed_->setValue(1);
  seed_->setToolTip(tr("Same seed, same text"));
  write_ = make_primary(tr("Write"), {}, this);
  stop_ = make_button(tr("Stop"), tr("Keeps what has been written"), this);
  state_ = make_muted({}, this);

  auto* form = new QFormLayout;
  form->setLabelAlignment(Qt::AlignLeft);
  form->addRow(tr("Weights"), source_);
  form->addRow(tr("Length"), length_);
  form->addRow(tr("Temperature"), temperature_);
  form->addRow(tr("Top k"), top_k_);
  form->addRow(tr("Top p"), top_p_);
  form->addRow(tr("Seed"), seed_);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(write_);
  buttons->addWidget(stop_);
  buttons->addStretch();
  auto* side = new QVBoxLayout;
  side->addLayout(form);
  side->addLayout(buttons);
  side->addWidget(state_);
  side->addStretch();
  auto* text = new QVBoxLayout;
  text->addWidget(prompt_);
  text->addWidget(output_, 1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2 * Theme::grid);
  layout->addLayout(text, 1);
  layout->addLayout(side);

  connect(write_, &QPushButton::clicked, this, &RunTryTab::write);
  connect(stop_, &QPushButton::clicked, this, &RunTryTab::stop);
  connect(source_, &QComboBox::currentIndexChanged, this, &RunTryTab::show_state);
  connect(&job_, &LatestJob::busy_changed, this, &RunTryTab::show_state);
  connect(&context.devices, &Devices::ready_changed, this, &RunTryTab::show_state);
  connect(
      this, &RunTryTab::piece, this,
      [this](int64_t job, const QString& words) {
        if (job != writing_) return;
        output_->moveCursor(QTextCursor::End);
        output_->insertPlainText(words);
        output_->moveCursor(QTextCursor::End);
      },
      Qt::QueuedConnection);
  show_state();
}

RunTryTab::~RunTryTab() {
  stop();
}

void RunTryTab::set_run(const QString& id) {
  stop();
  job_.cancel();
  id_ = id;
  checkpoints_.clear();
  active_ = false;
  output_->clear();
  state_->clear();
  fill_sources();
}

void RunTryTab::apply(const RunDelta& delta) {
  if (!delta.checkpoints && !delta.details) return;
  const bool was_active = active_;
  if (delta.details) active_ = is_active(delta.details->status);
  if (delta.checkpoints) checkpoints_ = *delta.checkpoints;
  if (delta.checkpoints || was_active != active_) fill_sources();
}

void RunTryTab::fill_sources() {
  const QVariant before = source_->currentData();
  source_->clear();
  if (active_) source_->addItem(tr("The run as it is now"), kLive);
  for (auto row = checkpoints_.rbegin(); row != checkpoints_.rend(); ++row) {
    if (row->complete)
      source_->addItem(tr("Checkpoint of step %1").arg(count_text(row->step)), qint64{row->step});
  }
  const int index = before.isValid() ? source_->findData(before) : -1;
  if (index >= 0) source_->setCurrentIndex(index);
  show_state();
}

void RunTryTab::choose_step(qint64 step) {
  const int index = source_->findData(step);
  if (index >= 0) source_->setCurrentIndex(index);
  prompt_->setFocus();
}

bool RunTryTab::live_chosen() const {
  return source_->currentData().isValid() && source_->currentData().toLongLong() == kLive;
}

void RunTryTab::show_state() {
  const bool any = source_->count() > 0;
  const bool ready = context_.devices.ready() || live_chosen();
  write_->setEnabled(any && ready && !job_.busy());
  write_->setToolTip(!any     ? tr("There is no checkpoint to write with yet")
                     : !ready ? tr("The devices of this machine are still being looked at")
                              : tr("Goes on with the prompt"));
  stop_->setEnabled(job_.busy());
  for (QWidget* widget : std::initializer_list<QWidget*>{length_, temperature_, top_k_, top_p_, seed_}) {
    widget->setEnabled(!live_chosen());
    if (live_chosen()) continue;
  }
  if (live_chosen())
    state_->setText(
        tr("The run writes after the update at work, with the sampling of its settings; the text appears "
           "under Samples."));
  if (!any) state_->setText(tr("The first checkpoint of the run can write."));
  if (any && !live_chosen() && !job_.busy() && output_->document()->isEmpty()) state_->clear();
}

void RunTryTab::write() {
  if (!write_->isEnabled()) return;
  const QString prompt = prompt_->toPlainText();
  if (live_chosen()) {
    Q_EMIT live_sample_wanted(prompt);
    return;
  }
  const qint64 step = source_->currentData().toLongLong();
  Request request{to_std(QStringLiteral("%1@%2").arg(id_).arg(step)), to_std(prompt), length_->value(), {}};
  request.sampling.temperature = temperature_->value();
  request.sampling.top_k = top_k_->value();
  request.sampling.top_p = top_p_->value();
  request.sampling.seed = static_cast<uint64_t>(seed_->value());
  output_->setPlainText(prompt);
  state_->setText(tr("Loading the checkpoint…"));
  stop_flag_ = std::make_shared<std::atomic<bool>>(false);
  const auto job = std::make_shared<std::atomic<int64_t>>(0);
  writing_ = job_.run(
      [open = context_.open_history, &registry = context_.registry, request, stop = stop_flag_, job, this] {
        while (*job == 0 && !*stop) QThread::yieldCurrentThread();  // until the line below the call has run
        const auto history = open();
        write_text(*history, registry, request, [&](const std::string& words) {
          Q_EMIT piece(*job, to_qt(words));
          return !*stop;
        });
        return 0;
      },
      [this](int) { state_->setText(tr("Done.")); },
      [this](const Error& error) { state_->setText(to_qt(std::string_view(error.what()))); });
  *job = writing_;
}

void RunTryTab::stop() {
  if (stop_flag_) *stop_flag_ = true;
}

QString RunTryTab::output() const {
  return output_->toPlainText();
}

void RunTryTab::set_prompt(const QString& prompt) {
  prompt_->setPlainText(prompt);
}

void RunTryTab::set_length(int tokens) {
  length_->setValue(tokens);
}

}  // namespace lathe::ui
