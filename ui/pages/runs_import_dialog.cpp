#include "ui/pages/runs_import_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTableWidget>
#include <QTimer>
#include <QVBoxLayout>

#include "core/history/history_store.h"
#include "core/history/line_pattern.h"
#include "ui/app_context.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

enum Cell { Name, Example, Values, Target, Factor, CellCount };

const QString kFolderKey = QStringLiteral("import/folder");

}  // namespace

RunsImportDialog::RunsImportDialog(AppContext& context, QWidget* parent)
    : QDialog(parent), context_(context) {
  setWindowTitle(tr("Import a log"));
  build();
  resize(760, 620);
  show_state(tr("Choose a file."), false);
}

void RunsImportDialog::build() {
  file_label_ = new QLabel(this);
  file_label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* choose = make_button(tr("Choose file…"), {}, this);
  auto* file_line = new QHBoxLayout;
  file_line->addWidget(file_label_, 1);
  file_line->addWidget(choose);
  format_ = new QComboBox(this);
  format_->addItem(tr("CSV: comma, semicolon or tab"), static_cast<int>(ForeignFormat::Csv));
  format_->addItem(tr("JSON lines: one object a line"), static_cast<int>(ForeignFormat::JsonLines));
  format_->addItem(tr("Hugging Face trainer_state.json"), static_cast<int>(ForeignFormat::TrainerState));
  format_->addItem(tr("Lines of text by a pattern"), static_cast<int>(ForeignFormat::Lines));
  pattern_ = new QLineEdit(this);
  pattern_->setPlaceholderText(QStringLiteral("step {step} | loss {loss} | {tokens_per_s} tok/s"));
  pattern_->setToolTip(tr("A line of the log with {names} in place of its numbers; {} stands for anything"));
  pattern_->setFont(Theme::mono_font());
  preview_ = new QPlainTextEdit(this);
  preview_->setReadOnly(true);
  preview_->setFont(Theme::mono_font());
  preview_->setLineWrapMode(QPlainTextEdit::NoWrap);
  preview_->setMaximumHeight(104);
  preview_->setAccessibleName(tr("First lines of the file"));
  columns_ = new QTableWidget(0, CellCount, this);
  columns_->setAccessibleName(tr("Columns of the log and what they stand for"));
  columns_->setHorizontalHeaderLabels(
      {tr("Column"), tr("First value"), tr("Values"), tr("Stands for"), tr("Times")});
  columns_->horizontalHeaderItem(Factor)->setToolTip(
      tr("Values are multiplied by it: 1000 turns seconds into ms, 1073741824 GiB into bytes"));
  columns_->verticalHeader()->hide();
  columns_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  columns_->horizontalHeader()->setSectionResizeMode(Target, QHeaderView::Stretch);
  columns_->setSelectionMode(QAbstractItemView::NoSelection);
  tokens_per_step_ = new QSpinBox(this);
  tokens_per_step_->setRange(0, 2'000'000'000);
  tokens_per_step_->setGroupSeparatorShown(true);
  tokens_per_step_->setSpecialValueText(tr("unknown"));
  tokens_per_step_->setToolTip(
      tr("Gives tokens where the log has none, so that losses are compared at equal tokens; and tokens/s "
         "from the "
         "step time. Batch × accumulation × context"));
  name_ = new QLineEdit(this);
  baseline_ = new QCheckBox(tr("Measure other runs against it"), this);
  baseline_->setChecked(true);
  connect(tokens_per_step_, &QSpinBox::valueChanged, this, [this] {
    if (table_) check_mapping();
  });
  state_ = make_muted({}, this);
  progress_ = new QProgressBar(this);
  progress_->setTextVisible(false);
  progress_->hide();
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  import_ = make_primary(tr("Import"), {}, this);
  import_->setEnabled(false);
  buttons->addButton(import_, QDialogButtonBox::ActionRole);

  auto* form = new QFormLayout;
  form->addRow(tr("File"), file_line);
  form->addRow(tr("Format"), format_);
  form->addRow(tr("Pattern"), pattern_);
  form->addRow(tr("Begins with"), preview_);
  auto* after = new QFormLayout;
  after->addRow(tr("Tokens a step"), tokens_per_step_);
  after->addRow(tr("Name"), name_);
  after->addRow(QString(), baseline_);
  // Two forms, one column of labels.
  int label_width = 0;
  for (QFormLayout* one : {form, after}) {
    for (int row = 0; row < one->rowCount(); ++row) {
      if (const QLayoutItem* item = one->itemAt(row, QFormLayout::LabelRole))
        label_width = std::max(label_width, item->sizeHint().width());
    }
  }
  form->itemAt(0, QFormLayout::LabelRole)->widget()->setMinimumWidth(label_width);
  after->itemAt(0, QFormLayout::LabelRole)->widget()->setMinimumWidth(label_width);
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(Theme::grid);
  layout->addLayout(form);
  layout->addWidget(columns_, 1);
  layout->addLayout(after);
  layout->addWidget(state_);
  layout->addWidget(progress_);
  layout->addWidget(buttons);

  typing_ = new QTimer(this);
  typing_->setSingleShot(true);
  typing_->setInterval(250);
  connect(typing_, &QTimer::timeout, this, &RunsImportDialog::read);
  connect(choose, &QPushButton::clicked, this, &RunsImportDialog::choose_file);
  connect(format_, &QComboBox::currentIndexChanged, this, &RunsImportDialog::read);
  connect(pattern_, &QLineEdit::textChanged, typing_, qOverload<>(&QTimer::start));
  connect(import_, &QPushButton::clicked, this, &RunsImportDialog::start_import);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(this, &QDialog::rejected, this, [this] { job_.cancel(); });
}

void RunsImportDialog::choose_file() {
  const QString folder = context_.preferences.value(kFolderKey).toString();
  const QString file = QFileDialog::getOpenFileName(
      this, tr("Import a log"), folder, tr("Logs (*.csv *.tsv *.jsonl *.json *.log *.txt);;All files (*)"));
  if (!file.isEmpty()) set_file(file);
}

void RunsImportDialog::set_file(const QString& file) {
  file_ = file;
  context_.preferences.set_value(kFolderKey, QFileInfo(file).absolutePath());
  file_label_->setText(file);
  name_->setText(QFileInfo(file).completeBaseName());
  try {
    std::vector<std::string> lines = first_lines(to_path(file), 60);
    const ForeignFormat format = guess_foreign_format(to_path(file));
    const QSignalBlocker quiet_format(format_), quiet_pattern(pattern_);
    format_->setCurrentIndex(format_->findData(static_cast<int>(format)));
    pattern_->setText(to_qt(suggest_pattern(lines)));
    QStringList shown;
    for (size_t i = 0; i < std::min<size_t>(lines.size(), 40); ++i) shown << to_qt(lines[i]);
    preview_->setPlainText(shown.join(QLatin1Char('\n')));
  } catch (...) {
    show_state(to_qt(std::string_view(as_error(std::current_exception()).what())), true);
    return;
  }
  read();
}

void RunsImportDialog::set_format(ForeignFormat format) {
  format_->setCurrentIndex(format_->findData(static_cast<int>(format)));
}

void RunsImportDialog::set_pattern(const QString& pattern) {
  pattern_->setText(pattern);
  read();
}

void RunsImportDialog::set_name(const QString& name) {
  name_->setText(name);
}

void RunsImportDialog::read() {
  typing_->stop();
  const auto format = static_cast<ForeignFormat>(format_->currentData().toInt());
  pattern_->setEnabled(format == ForeignFormat::Lines);
  table_.reset();
  import_->setEnabled(false);
  if (file_.isEmpty()) return;
  show_state(tr("Reading…"), false);
  job_.run(
      [file = to_path(file_), format, pattern = to_std(pattern_->text())] {
        return std::make_shared<const ForeignTable>(read_foreign_log(file, format, pattern));
      },
      [this](std::shared_ptr<const ForeignTable> table) {
        table_ = std::move(table);
        show_table();
      },
      [this](const Error& error) {
        columns_->setRowCount(0);
        show_state(to_qt(std::string_view(error.what())), true);
      });
}

void RunsImportDialog::show_table() {
  const ForeignMapping suggested = suggest_mapping(*table_);
  columns_->setRowCount(static_cast<int>(table_->columns.size()));
  for (int row = 0; row < columns_->rowCount(); ++row) {
    const ForeignColumn& column = table_->columns[static_cast<size_t>(row)];
    const auto values =
        std::ranges::count_if(column.values, [](const MetricValue& value) { return value.has_value(); });
    const auto set = [&](int cell, const QString& text) {
      auto* item = new QTableWidgetItem(text);
      item->setFlags(Qt::ItemIsEnabled);
      item->setToolTip(text);
      columns_->setItem(row, cell, item);
    };
    set(Name, to_qt(column.name));
    set(Example, to_qt(column.example));
    set(Values, count_text(values));
    auto* target = new QComboBox;
    target->setAccessibleName(tr("What %1 stands for").arg(to_qt(column.name)));
    target->addItem(tr("(not used)"), QString());
    for (const ForeignTarget& one : foreign_targets()) {
      const QString unit = one.unit.empty() ? QString() : tr("  [%1]").arg(to_qt(one.unit));
      target->addItem(to_qt(one.label) + unit, to_qt(one.key));
    }
    auto* factor = new QLineEdit(QStringLiteral("1"));
    factor->setAccessibleName(tr("Factor of %1").arg(to_qt(column.name)));
    const auto found =
        std::ranges::find(suggested.columns, static_cast<size_t>(row), &ForeignMapping::Column::column);
    if (found != suggested.columns.end()) {
      target->setCurrentIndex(target->findData(to_qt(found->target)));
      factor->setText(QString::number(found->factor, 'g', 12));
    }
    connect(target, &QComboBox::currentIndexChanged, this, &RunsImportDialog::check_mapping);
    connect(factor, &QLineEdit::textChanged, this, &RunsImportDialog::check_mapping);
    columns_->setCellWidget(row, Target, target);
    columns_->setCellWidget(row, Factor, factor);
  }
  columns_->resizeColumnToContents(Name);
  columns_->resizeColumnToContents(Values);
  tokens_per_step_->setValue(static_cast<int>(
      std::clamp<int64_t>(suggested.tokens_per_step.value_or(0), 0, tokens_per_step_->maximum())));
  check_mapping();
}

int RunsImportDialog::column_count() const {
  return columns_->rowCount();
}

void RunsImportDialog::set_target(int column, const QString& target) {
  auto* choice = static_cast<QComboBox*>(columns_->cellWidget(column, Target));
  choice->setCurrentIndex(choice->findData(target));
}

ForeignMapping RunsImportDialog::mapping() const {
  ForeignMapping mapping;
  for (int row = 0; row < columns_->rowCount(); ++row) {
    const QString target =
        static_cast<QComboBox*>(columns_->cellWidget(row, Target))->currentData().toString();
    if (target.isEmpty()) continue;
    bool number = false;
    const double factor =
        static_cast<QLineEdit*>(columns_->cellWidget(row, Factor))->text().toDouble(&number);
    mapping.columns.push_back({static_cast<size_t>(row), to_std(target),
                               number ? factor : std::numeric_limits<double>::quiet_NaN()});
  }
  if (tokens_per_step_->value() > 0) mapping.tokens_per_step = tokens_per_step_->value();
  return mapping;
}

void RunsImportDialog::check_mapping() {
  QStringList targets;
  bool twice = false, metric = false, factors = true;
  for (const ForeignMapping::Column& column : mapping().columns) {
    const QString target = to_qt(column.target);
    twice = twice || targets.contains(target);
    factors = factors && std::isfinite(column.factor);
    targets << target;
    metric = metric || !QStringList({QStringLiteral("step"), QStringLiteral("tokens"), QStringLiteral("time"),
                                     QStringLiteral("active")})
                            .contains(target);
  }
  QString text = counted_text(static_cast<int64_t>(table_->rows), tr("1 row."), tr("%1 rows."));
  if (table_->skipped > 0) {
    text += QLatin1Char(' ') + counted_text(static_cast<int64_t>(table_->skipped), tr("1 line is no row: %1"),
                                            tr("%1 lines are no rows, the first: %2"))
                                   .arg(to_qt(table_->first_skipped));
  }
  if (!targets.contains(QStringLiteral("tokens")) && tokens_per_step_->value() == 0)
    text += QLatin1Char(' ') +
            tr("Say how many tokens a step has, or its loss can't be compared at equal tokens.");
  if (twice) text = tr("Two columns stand for the same.");
  if (!metric) text = tr("Say which column is the training loss.");
  if (!factors) text = tr("A factor must be a number.");
  import_->setEnabled(!twice && metric && factors);
  show_state(text, twice || !metric || !factors);
}

void RunsImportDialog::show_state(const QString& text, bool bad) {
  state_->setText(text);
  set_tone(state_, bad ? Tone::Bad : Tone::Muted);
  if (bad) import_->setEnabled(false);
}

QString RunsImportDialog::state() const {
  return state_->text();
}

bool RunsImportDialog::ready() const {
  return import_->isEnabled();
}

void RunsImportDialog::start_import() {
  if (!table_ || !import_->isEnabled()) return;
  import_->setEnabled(false);
  progress_->setRange(0, 0);
  progress_->show();
  ForeignRun run;
  run.name = to_std(name_->text().trimmed());
  run.source = to_std(QFileInfo(file_).fileName());
  const auto id = std::make_shared<std::atomic<int64_t>>(0);
  *id = job_.run(
      [open = context_.open_history, table = table_, mapping = mapping(), run, id, this] {
        const auto store = open();
        return import_foreign_log(*store, *table, mapping, run,
                                  [&](int64_t, int64_t) { return *id == 0 || !job_.stale(*id); });
      },
      [this](const std::string& imported_id) {
        Q_EMIT imported(to_qt(imported_id), baseline_->isChecked());
        accept();
      },
      [this](const Error& error) {
        progress_->hide();
        show_state(to_qt(std::string_view(error.what())), true);
        import_->setEnabled(true);
      });
}

}  // namespace lathe::ui
