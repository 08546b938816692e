#include "ui/pages/data_build_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QSpinBox>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

DatasetDialog::DatasetDialog(const QString& title, const QString& action, const QString& folder,
                             const QString& filter, QWidget* parent)
    : QDialog(parent),
      form_(new QFormLayout),
      validation_(new QDoubleSpinBox),
      replace_(new QCheckBox(tr("Replace a dataset of this name"))),
      folder_(folder),
      files_(new QListWidget),
      name_(new QLineEdit),
      reason_(make_muted({})),
      buttons_(new QDialogButtonBox(QDialogButtonBox::Cancel)) {
  setWindowTitle(title);
  setAcceptDrops(true);
  setMinimumWidth(72 * Theme::grid);
  QPushButton* accept_button = buttons_->addButton(action, QDialogButtonBox::AcceptRole);
  set_primary(accept_button);

  files_->setAccessibleName(tr("Input files and folders"));
  files_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  files_->setMinimumHeight(14 * Theme::grid);
  auto* add_files = make_button(tr("Add files…"));
  auto* add_folder = make_button(tr("Add folder…"), tr("All files of known kinds in it and below"));
  auto* remove = make_button(tr("Remove"), tr("Take the selected ones off the list"));
  auto* file_buttons = new QHBoxLayout;
  file_buttons->addWidget(add_files);
  file_buttons->addWidget(add_folder);
  file_buttons->addWidget(remove);
  file_buttons->addStretch(1);

  name_->setAccessibleName(tr("Name of the new dataset"));
  validation_->setRange(0, 50);
  validation_->setSingleStep(0.5);
  validation_->setDecimals(2);
  validation_->setValue(1);
  validation_->setSuffix(tr(" %"));
  validation_->setToolTip(tr("Share of the documents held out for evaluation, from the end of the stream"));
  form_->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form_->addRow(tr("Name"), name_);

  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(Theme::grid);
  layout->addWidget(
      make_muted(tr("Drop files here, or add them. The dataset is written to %1.").arg(folder)));
  layout->addWidget(files_, 1);
  layout->addLayout(file_buttons);
  layout->addLayout(form_);
  layout->addWidget(replace_);
  layout->addWidget(reason_);
  layout->addWidget(buttons_);

  connect(add_files, &QPushButton::clicked, this,
          [this, filter] { add_inputs(QFileDialog::getOpenFileNames(this, tr("Input files"), {}, filter)); });
  connect(add_folder, &QPushButton::clicked, this, [this] {
    const QString chosen = QFileDialog::getExistingDirectory(this, tr("Input folder"));
    if (!chosen.isEmpty()) add_inputs({chosen});
  });
  connect(remove, &QPushButton::clicked, this, [this] {
    qDeleteAll(files_->selectedItems());
    refresh();
  });
  connect(name_, &QLineEdit::textChanged, this, &DatasetDialog::refresh);
  connect(replace_, &QCheckBox::toggled, this, &DatasetDialog::refresh);
  connect(buttons_, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

void DatasetDialog::add_inputs(const QStringList& paths) {
  for (const QString& path : paths) {
    if (files_->findItems(path, Qt::MatchExactly).isEmpty()) files_->addItem(path);
  }
  if (name_->text().isEmpty() && files_->count() > 0) {
    name_->setText(QFileInfo(files_->item(0)->text()).completeBaseName().section(QLatin1Char('.'), 0, 0));
  }
  refresh();
}

void DatasetDialog::set_name(const QString& name) {
  name_->setText(name);
}

std::filesystem::path DatasetDialog::target() const {
  return to_path(folder_) / to_path(name_->text().trimmed());
}

std::vector<std::filesystem::path> DatasetDialog::inputs() const {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < files_->count(); ++i) paths.push_back(to_path(files_->item(i)->text()));
  return paths;
}

QString DatasetDialog::missing() const {
  const QString name = name_->text().trimmed();
  if (files_->count() == 0) return tr("Add at least one file or folder.");
  if (name.isEmpty()) return tr("Give the dataset a name.");
  if (name.contains(QLatin1Char('/')) || name.contains(QLatin1Char('\\')) || name == QLatin1String("..") ||
      name == QLatin1String(".")) {
    return tr("A name can't hold a slash.");
  }
  if (!replace_->isChecked() && QFileInfo::exists(to_qt(target()))) {
    return tr("There is a dataset of this name: choose another, or let it be replaced.");
  }
  return {};
}

void DatasetDialog::refresh() {
  const QString reason = missing();
  reason_->setText(reason);
  for (QAbstractButton* button : buttons_->buttons()) {
    if (buttons_->buttonRole(button) == QDialogButtonBox::AcceptRole) button->setEnabled(reason.isEmpty());
  }
}

void DatasetDialog::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void DatasetDialog::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  add_inputs(paths);
}

QWidget* DatasetDialog::file_row(QLineEdit* line, const QString& title, const QString& filter) {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* browse = make_button(tr("Browse…"));
  layout->addWidget(line, 1);
  layout->addWidget(browse);
  row->setFocusProxy(line);
  connect(browse, &QPushButton::clicked, this, [this, line, title, filter] {
    const QString path = QFileDialog::getOpenFileName(this, title, {}, filter);
    if (!path.isEmpty()) line->setText(path);
  });
  connect(line, &QLineEdit::textChanged, this, &DatasetDialog::refresh);
  return row;
}

BuildDialog::BuildDialog(const QString& folder, QWidget* parent)
    : DatasetDialog(tr("Build a dataset"), tr("Build"), folder,
                    tr("Text and JSON (*.txt *.md *.text *.jsonl *.ndjson *.json *.gz *.zst);;All files (*)"),
                    parent),
      kind_(new QComboBox),
      vocab_(new QSpinBox),
      model_(new QLineEdit),
      field_(new QLineEdit(QStringLiteral("text"))),
      separator_(new QLineEdit(QStringLiteral("<|endoftext|>"))),
      skip_(new QCheckBox(tr("Leave out documents that can't be read"))) {
  kind_->addItems({tr("Train one on this text"), tr("Use a SentencePiece model")});
  vocab_->setRange(300, 1 << 20);
  vocab_->setValue(32000);
  vocab_->setGroupSeparatorShown(true);
  vocab_->setSuffix(tr(" tokens"));
  vocab_->setToolTip(tr("Must equal the model's vocabulary: 32000 for 977m, 2048 for tiny"));
  field_->setToolTip(tr("The field of a JSON object that holds the document"));
  separator_->setToolTip(
      tr("In text files, a line that is exactly this ends a document; empty: a file is one document"));
  skip_->setToolTip(tr("Otherwise the first unreadable document stops the build, naming file and line"));
  QWidget* model_row = file_row(model_, tr("Tokenizer"), tr("SentencePiece models (*.model);;All files (*)"));
  form_->addRow(tr("Tokenizer"), kind_);
  form_->addRow(tr("Vocabulary"), vocab_);
  form_->addRow(tr("Model file"), model_row);
  form_->addRow(tr("JSON field"), field_);
  form_->addRow(tr("Separator line"), separator_);
  form_->addRow(tr("Held out"), validation_);
  form_->addRow(QString(), skip_);
  const auto show_kind = [this, model_row] {
    const bool train = kind_->currentIndex() == 0;
    vocab_->setEnabled(train);
    model_row->setEnabled(!train);
    refresh();
  };
  connect(kind_, &QComboBox::currentIndexChanged, this, show_kind);
  show_kind();
}

void BuildDialog::set_vocab(int vocab) {
  vocab_->setValue(vocab);
}

QString BuildDialog::missing() const {
  const QString base = DatasetDialog::missing();
  if (!base.isEmpty()) return base;
  if (kind_->currentIndex() == 1 && !QFileInfo::exists(model_->text()))
    return tr("Choose the tokenizer's model file.");
  return {};
}

BuildOptions BuildDialog::options() const {
  BuildOptions options;
  options.inputs = inputs();
  if (kind_->currentIndex() == 1) options.tokenizer = to_path(model_->text());
  options.train_vocab = vocab_->value();
  options.documents.field = to_std(field_->text());
  options.documents.separator = to_std(separator_->text());
  options.documents.skip_invalid = skip_->isChecked();
  options.validation_fraction = validation_->value() / 100;
  options.replace = replace_->isChecked();
  return options;
}

ImportDialog::ImportDialog(const QString& folder, QWidget* parent)
    : DatasetDialog(tr("Import token files"), tr("Import"), folder, tr("Token files (*.bin);;All files (*)"),
                    parent),
      format_(new QComboBox),
      model_(new QLineEdit),
      vocab_(new QSpinBox),
      eos_(new QSpinBox) {
  for (const TokenFormat format : {TokenFormat::NanoGpt, TokenFormat::LlmC, TokenFormat::Llmq}) {
    format_->addItem(to_qt(token_format_name(format)), static_cast<int>(format));
  }
  format_->setToolTip(tr("nanogpt: raw uint16 ids; llmc and llmq: ids behind a header"));
  vocab_->setRange(0, 1 << 21);
  vocab_->setSpecialValueText(tr("as the files or the tokenizer say"));
  eos_->setRange(-2, 1 << 21);
  eos_->setSpecialValueText(tr("as the format says"));
  eos_->setValue(-2);
  eos_->setToolTip(tr("The id between documents; -1: none, each file is one document"));
  model_->setPlaceholderText(tr("none: text can't be shown or generated"));
  form_->addRow(tr("Format"), format_);
  form_->addRow(tr("Tokenizer"),
                file_row(model_, tr("Tokenizer"), tr("SentencePiece models (*.model);;All files (*)")));
  form_->addRow(tr("Vocabulary"), vocab_);
  form_->addRow(tr("End of text"), eos_);
  form_->addRow(tr("Held out"), validation_);
  refresh();
}

ImportOptions ImportDialog::options() const {
  ImportOptions options;
  options.format = static_cast<TokenFormat>(format_->currentData().toInt());
  options.files = inputs();
  if (!model_->text().isEmpty()) options.tokenizer = to_path(model_->text());
  options.vocab = vocab_->value();
  if (eos_->value() >= -1) options.eos = eos_->value();
  options.validation_fraction = validation_->value() / 100;
  options.replace = replace_->isChecked();
  return options;
}

}  // namespace lathe::ui
