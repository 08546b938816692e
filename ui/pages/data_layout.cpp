// How Data is put together; what it does stands in data_page.cpp.
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/forms/fact_grid.h"
#include "ui/navigator.h"
#include "ui/pages/data_histogram.h"
#include "ui/pages/data_job.h"
#include "ui/pages/data_page.h"
#include "ui/pages/data_token_view.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

DataPage::DataPage(AppContext& context, QWidget* parent)
    : Page(context, Place::Data, parent), job_(new DataJob(this)) {
  list_ = new QListWidget;
  list_->setAccessibleName(tr("Datasets"));
  list_->setMinimumWidth(22 * Theme::grid);

  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->addTab(make_overview(), tr("Overview"));
  tabs_->addTab(make_windows(), tr("Windows"));
  tabs_->addTab(make_first_batch(), tr("First batch"));

  auto* detail = new QWidget;
  auto* detail_column = new QVBoxLayout(detail);
  detail_column->setContentsMargins(0, 0, 0, 0);
  auto* head = new QHBoxLayout;
  title_ = new QLabel;
  title_->setFont(Theme::heading_font());
  folder_ = new ElidedLabel;
  set_tone(folder_, Tone::Muted);
  auto* use = make_primary(tr("Train on it"), tr("New takes this dataset as its training data"));
  head->addWidget(title_);
  head->addWidget(folder_, 1);
  head->addWidget(use);
  detail_column->addLayout(head);
  detail_column->addWidget(tabs_, 1);

  auto* splitter = new QSplitter;
  splitter->addWidget(list_);
  splitter->addWidget(detail);
  splitter->setStretchFactor(1, 1);
  splitter->setHandleWidth(2 * Theme::grid);
  splitter->setChildrenCollapsible(false);

  empty_ = new EmptyState(
      context.theme, QStringLiteral("data"), tr("No dataset yet"),
      tr("A dataset is a folder of token files that training reads. Build one from your own text, or "
         "begin with six novels of Jane Austen: ready in seconds, and made for the tiny preset."),
      tr("Build the sample dataset"));
  stack_ = new QStackedWidget;
  stack_->addWidget(empty_);
  stack_->addWidget(splitter);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(2 * Theme::grid, Theme::grid, 2 * Theme::grid, Theme::grid);
  layout->setSpacing(Theme::grid);
  layout->addWidget(make_header());
  layout->addWidget(stack_, 1);
  layout->addWidget(make_progress());

  connect(empty_, &EmptyState::triggered, this, &DataPage::build_sample);
  connect(list_, &QListWidget::currentItemChanged, this, &DataPage::show_current);
  connect(use, &QPushButton::clicked, this, [this] {
    if (!current_folder().isEmpty()) Q_EMIT this->context().navigator.use_dataset(current_folder());
  });
  connect(job_, &DataJob::started, this, [this] {
    progress_->show();
    cancel_->setEnabled(true);
    job_progressed({tr("Starting"), -1, {}});
  });
  connect(job_, &DataJob::progressed, this, &DataPage::job_progressed);
  connect(job_, &DataJob::finished, this, [this](const QString& folder) {
    job_ended(tr("Done: %1").arg(folder), true);
    shown_.reset();
    show_dataset(folder);
  });
  connect(job_, &DataJob::failed, this, [this](const Error& error) {
    const bool cancelled = error.code() == ErrorCode::Cancelled;
    job_ended(cancelled ? tr("Cancelled; nothing was left behind.") : to_qt(error.what_happened()), false);
    if (!cancelled) this->context().alerts.add_error(error);
  });
}

QWidget* DataPage::make_header() {
  auto* header = new QWidget;
  auto* row = new QHBoxLayout(header);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(Theme::grid);
  row->addWidget(make_title(tr("Data")));
  row->addStretch(1);
  const auto add = [&](const QString& text, const QString& tip, const char* icon, void (DataPage::*slot)()) {
    QPushButton* button = make_button(text, tip);
    button->setIcon(context().theme.icon(QString::fromLatin1(icon)));
    connect(button, &QPushButton::clicked, this, slot);
    row->addWidget(button);
    return button;
  };
  QPushButton* build_button = add(tr("Build…"), tr("From text or JSON files"), "plus", &DataPage::build);
  QPushButton* import_button =
      add(tr("Import…"), tr("Token files of nanoGPT, llm.c or LLMQ"), "import", &DataPage::import);
  add(tr("Add folder…"), tr("Show a dataset that lies somewhere else"), "folder", &DataPage::add_folder);
  for (QPushButton* button : {build_button, import_button}) {
    connect(job_, &DataJob::started, button, [button] { button->setEnabled(false); });
    connect(job_, &DataJob::ended, button, [button] { button->setEnabled(true); });
  }
  return header;
}

QWidget* DataPage::make_overview() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, Theme::grid, 0, 0);
  column->setSpacing(Theme::grid);
  auto* fact_card = new Card;
  facts_ = new FactGrid(context().theme);
  fact_card->body()->addWidget(facts_);
  auto* length_card = new Card(tr("Length of training documents, in tokens"));
  bars_ = new LengthBars(context().theme);
  lengths_ = make_muted({});
  length_card->body()->addWidget(bars_, 1);
  length_card->body()->addWidget(lengths_);
  auto* source_card = new Card(tr("Sources, held-out documents included"));
  sources_ = new QTableWidget(0, 4);
  sources_->setHorizontalHeaderLabels({tr("File"), tr("Size"), tr("Documents"), tr("Tokens")});
  sources_->setAccessibleName(tr("Sources"));
  sources_->verticalHeader()->hide();
  sources_->setFrameShape(QFrame::NoFrame);
  sources_->setItemDelegate(new CellDelegate(sources_));
  sources_->setShowGrid(false);
  sources_->setTextElideMode(Qt::ElideMiddle);
  sources_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  sources_->setSelectionBehavior(QAbstractItemView::SelectRows);
  sources_->horizontalHeader()->setHighlightSections(false);
  sources_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  sources_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  for (int column_index = 0; column_index < 4; ++column_index) {
    sources_->horizontalHeaderItem(column_index)
        ->setTextAlignment(column_index == 0 ? Qt::AlignLeft | Qt::AlignVCenter
                                             : Qt::AlignRight | Qt::AlignVCenter);
  }
  source_card->body()->addWidget(sources_, 1);
  column->addWidget(fact_card);
  column->addWidget(length_card, 1);
  column->addWidget(source_card, 1);
  return page;
}

QWidget* DataPage::make_windows() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, Theme::grid, 0, 0);
  column->setSpacing(Theme::grid);
  split_ = new QComboBox;
  split_->addItems({tr("training"), tr("held out")});
  split_->setAccessibleName(tr("Split"));
  window_ = new QSpinBox;
  window_->setAccessibleName(tr("Window"));
  window_->setGroupSeparatorShown(true);
  window_->setMinimumWidth(14 * Theme::grid);
  context_length_ = new QSpinBox;
  context_length_->setRange(8, 1 << 20);
  context_length_->setValue(256);
  context_length_->setSuffix(tr(" tokens"));
  context_length_->setAccessibleName(tr("Context"));
  auto* row = new QHBoxLayout;
  row->setSpacing(Theme::grid);
  row->addWidget(make_muted(tr("Split")));
  row->addWidget(split_);
  row->addWidget(make_muted(tr("Window")));
  row->addWidget(window_);
  row->addWidget(make_muted(tr("of")));
  row->addWidget(context_length_);
  row->addStretch(1);
  where_ = make_muted({});
  window_view_ = new TokenView(context().theme);
  column->addLayout(row);
  column->addWidget(where_);
  column->addWidget(window_view_, 1);
  connect(split_, &QComboBox::currentIndexChanged, this, &DataPage::read_window_now);
  connect(window_, &QSpinBox::valueChanged, this, &DataPage::read_window_now);
  connect(context_length_, &QSpinBox::valueChanged, this, &DataPage::read_window_now);
  return page;
}

QWidget* DataPage::make_first_batch() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, Theme::grid, 0, 0);
  column->setSpacing(Theme::grid);
  auto* choose =
      make_button(tr("Choose a run…"), tr("Show the very tokens its first update is computed from"));
  micro_step_ = new QSpinBox;
  micro_step_->setAccessibleName(tr("Micro-step"));
  micro_step_->setMinimum(1);
  row_ = new QSpinBox;
  row_->setAccessibleName(tr("Row"));
  row_->setMinimum(1);
  auto* row = new QHBoxLayout;
  row->setSpacing(Theme::grid);
  row->addWidget(choose);
  row->addWidget(make_muted(tr("Micro-step")));
  row->addWidget(micro_step_);
  row->addWidget(make_muted(tr("Row")));
  row->addWidget(row_);
  row->addStretch(1);
  batch_where_ = make_muted({});
  batch_view_ = new TokenView(context().theme);
  column->addLayout(row);
  column->addWidget(batch_where_);
  column->addWidget(batch_view_, 1);
  connect(choose, &QPushButton::clicked, this, &DataPage::choose_run);
  connect(micro_step_, &QSpinBox::valueChanged, this, &DataPage::read_batch_now);
  connect(row_, &QSpinBox::valueChanged, this, &DataPage::read_batch_now);
  return page;
}

QWidget* DataPage::make_progress() {
  progress_ = new QWidget;
  auto* row = new QHBoxLayout(progress_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(Theme::grid);
  progress_text_ = new QLabel;
  progress_bar_ = new QProgressBar;
  progress_bar_->setTextVisible(false);
  progress_bar_->setMaximumWidth(30 * Theme::grid);
  progress_bar_->setAccessibleName(tr("Progress"));
  cancel_ = make_button(tr("Cancel"), tr("Stop; nothing of the unfinished dataset stays"));
  row->addWidget(progress_text_, 1);
  row->addWidget(progress_bar_);
  row->addWidget(cancel_);
  progress_->hide();
  connect(cancel_, &QPushButton::clicked, job_, &DataJob::cancel);
  return progress_;
}

}  // namespace lathe::ui
