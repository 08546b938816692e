#include "ui/pages/data_page.h"

#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableWidget>

#include "core/config/config_json.h"
#include "core/data/manifest.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/forms/fact_grid.h"
#include "ui/navigator.h"
#include "ui/pages/data_build_dialog.h"
#include "ui/pages/data_histogram.h"
#include "ui/pages/data_job.h"
#include "ui/pages/data_token_view.h"
#include "ui/pages/new_run_picker.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr auto kFoldersKey = "data/folders";

// The newest run that trains on this dataset, among others perhaps.
std::optional<std::string> newest_run_on(const HistoryStore& store, const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const RunSummary& run : store.list({.archived = true})) {
    const std::string settings = store.details(run.id).settings_json;
    if (settings.empty()) continue;  // imported
    for (const auto& source : from_json_text(settings, {}, "the history").data.sources) {
      if (std::filesystem::equivalent(from_utf8(source.path), folder, ignored)) return run.id;
    }
  }
  return std::nullopt;
}

// Dataset folders: those in the data folder and those the user added.
QStringList find_datasets(const QString& data_folder, const QStringList& added) {
  QStringList folders;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(to_path(data_folder), ignored)) {
    if (std::filesystem::exists(entry.path() / DatasetManifest::file_name, ignored))
      folders << to_qt(entry.path());
  }
  folders.sort(Qt::CaseInsensitive);
  for (const QString& folder : added) {
    if (!folders.contains(folder) &&
        std::filesystem::exists(to_path(folder) / DatasetManifest::file_name, ignored)) {
      folders << folder;
    }
  }
  return folders;
}

}  // namespace

void DataPage::activated() {
  refresh_list();
}

QString DataPage::current_folder() const {
  return list_->currentItem() ? list_->currentItem()->data(Qt::UserRole).toString() : QString();
}

void DataPage::show_dataset(const QString& folder) {
  Preferences& preferences = context().preferences;
  QStringList added = preferences.value(QString::fromLatin1(kFoldersKey)).toStringList();
  if (!added.contains(folder)) {
    added << folder;
    preferences.set_value(QString::fromLatin1(kFoldersKey), added);
  }
  refresh_list(folder);
}

void DataPage::refresh_list(const QString& select) {
  const QString wanted = select.isEmpty() ? current_folder() : select;
  list_job_.run(
      [data_folder = context().preferences.data_folder(),
       added = context().preferences.value(QString::fromLatin1(kFoldersKey)).toStringList()] {
        return find_datasets(data_folder, added);
      },
      [this, wanted](const QStringList& folders) {
        const QString before = current_folder();
        {
          const QSignalBlocker blocker(list_);
          list_->clear();
          for (const QString& folder : folders) {
            auto* item = new QListWidgetItem(to_qt(to_path(folder).filename()));
            item->setData(Qt::UserRole, folder);
            item->setToolTip(folder);
            list_->addItem(item);
            if (folder == wanted) list_->setCurrentItem(item);
          }
          if (!list_->currentItem() && list_->count() > 0) list_->setCurrentRow(0);
        }
        stack_->setCurrentIndex(list_->count() == 0 ? 0 : 1);
        if (current_folder() != before || !shown_) {
          show_current();
        } else if (!batch_config_) {
          show_first_batch_of_newest(current_folder());
        }
      },
      [this](const Error& error) { context().alerts.add_error(error); });
}

void DataPage::show_current() {
  const QString folder = current_folder();
  shown_.reset();
  if (folder.isEmpty()) return;
  title_->setText(to_qt(to_path(folder).filename()));
  folder_->set_text(folder);
  facts_->set_stale(true);
  facts_job_.run(
      [path = to_path(folder)] { return read_dataset_facts(path); },
      [this](const DatasetFacts& facts) { show_facts(facts); },
      [this](const Error& error) {
        facts_->set_facts({{tr("Not usable"), to_qt(error.what_happened()), to_qt(error.what_to_do())}});
        bars_->show_lengths({});
        sources_->setRowCount(0);
        lengths_->setText(to_qt(error.what_happened()) + QLatin1Char(' ') + to_qt(error.what_to_do()));
        window_view_->show_message(to_qt(error.what_happened()));
      });
}

void DataPage::show_facts(const DatasetFacts& facts) {
  shown_ = facts;
  show_first_batch_of_newest(current_folder());
  const DatasetManifest& manifest = facts.manifest;
  const auto tokens = static_cast<double>(manifest.train.tokens + manifest.validation.tokens);
  facts_->set_stale(false);
  facts_->set_facts(
      {{tr("Training tokens"), count_text(manifest.train.tokens),
        tr("%1 documents").arg(count_text(manifest.train.documents))},
       {tr("Held-out tokens"), count_text(manifest.validation.tokens),
        tr("%1 documents, for evaluation").arg(count_text(manifest.validation.documents))},
       {tr("Vocabulary"), count_text(manifest.vocab),
        manifest.tokenizer_hash.empty() ? tr("No tokenizer in the folder: text can't be shown")
                                        : tr("SentencePiece")},
       {tr("On disk"), bytes_text(facts.bytes), tr("%1 bytes a token").arg(manifest.bytes_per_token)},
       {tr("Bytes a token"),
        manifest.text_bytes > 0 ? number_text(static_cast<double>(manifest.text_bytes) / tokens, 2)
                                : no_value(),
        tr("Of UTF-8 text, %1 in all").arg(bytes_text(manifest.text_bytes))},
       {tr("Left out"), count_text(manifest.skipped_records),
        tr("Documents that couldn't be read and were skipped on request")},
       {tr("Made"), to_qt(manifest.created).left(10), to_qt(manifest.origin)},
       {tr("Content"), facts.hash.left(12),
        tr("Name of exactly this content; resume compares it: %1").arg(facts.hash)}});
  bars_->show_lengths(facts.lengths);
  const LengthHistogram& lengths = facts.lengths;
  lengths_->setText(tr("%1 documents%2: shortest %3, median %4, mean %5, longest %6 tokens.")
                        .arg(count_text(lengths.documents),
                             lengths.sampled ? tr(" (an even sample)") : QString(),
                             count_text(lengths.shortest), count_text(lengths.median),
                             number_text(lengths.mean, 0), count_text(lengths.longest)));
  sources_->setRowCount(static_cast<int>(manifest.sources.size()));
  for (int row = 0; row < sources_->rowCount(); ++row) {
    const SourceEntry& source = manifest.sources[static_cast<size_t>(row)];
    const auto cell = [&](int column, const QString& text, bool number) {
      auto* item = new QTableWidgetItem(text);
      item->setToolTip(text);
      if (number) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
      sources_->setItem(row, column, item);
    };
    cell(0, to_qt(source.path), false);
    cell(1, bytes_text(source.bytes), true);
    cell(2, count_text(source.documents), true);
    cell(3, count_text(source.tokens), true);
  }
  read_window_now();
}

void DataPage::read_window_now() {
  if (!shown_) return;
  const Split split = split_->currentIndex() == 0 ? Split::Train : Split::Validation;
  const int64_t length = context_length_->value();
  const int64_t windows = window_count(shown_->manifest[split], length);
  {
    const QSignalBlocker blocker(window_);
    window_->setRange(1, static_cast<int>(std::clamp<int64_t>(windows, 1, 2147483647)));
  }
  if (windows == 0) {
    where_->setText(tr("This split is shorter than one window of %1 tokens.").arg(count_text(length)));
    window_view_->show_message({});
    return;
  }
  window_job_.run([folder = shown_->folder, split, window = window_->value() - 1,
                   length] { return read_window(folder, split, window, length); },
                  [this](const TokenText& text) {
                    where_->setText(text.where);
                    window_view_->show_text(text);
                  },
                  [this](const Error& error) {
                    where_->setText(to_qt(error.what_happened()));
                    window_view_->show_message(to_qt(error.what_to_do()));
                  });
}

void DataPage::choose_run() {
  list_job_.run([open = context().open_history] { return open()->list(); },
                [this](const std::vector<RunSummary>& runs) {
                  auto* picker = new RunPicker(tr("First batch of"), runs, this);
                  picker->setAttribute(Qt::WA_DeleteOnClose);
                  connect(picker, &RunPicker::picked, this, &DataPage::show_first_batch_of);
                  picker->open();
                },
                [this](const Error& error) { context().alerts.add_error(error); });
}

void DataPage::show_first_batch_of(const QString& run) {
  show_first_batch([run = to_std(run)](const HistoryStore&) { return std::optional(run); });
}

void DataPage::show_first_batch_of_newest(const QString& folder) {
  show_first_batch(
      [folder = to_path(folder)](const HistoryStore& store) { return newest_run_on(store, folder); });
}

void DataPage::show_first_batch(std::function<std::optional<std::string>(const HistoryStore&)> which) {
  batch_config_.reset();
  batch_job_.run(
      [open = context().open_history, which = std::move(which)]() -> std::optional<NamedConfig> {
        const std::unique_ptr<HistoryStore> store = open();
        const std::optional<std::string> run = which(*store);
        if (!run) return std::nullopt;
        const RunDetails details = store->details(*run);
        return NamedConfig{to_qt(details.name), from_json_text(details.settings_json, {}, "the history")};
      },
      [this](const std::optional<NamedConfig>& found) {
        if (!found) {
          batch_where_->setText(tr("No run has trained on this dataset yet."));
          batch_view_->show_message(tr("Choose another run to see the first batch it was trained on."));
          return;
        }
        batch_config_ = found;
        const RunConfig& config = found->config;
        const QSignalBlocker block_step(micro_step_), block_row(row_);
        micro_step_->setRange(1, static_cast<int>(config.batch.accumulation));
        row_->setRange(1, static_cast<int>(config.batch.micro_batch));
        read_batch_now();
      },
      [this](const Error& error) { batch_view_->show_message(to_qt(error.what_happened())); });
}

void DataPage::read_batch_now() {
  if (!batch_config_) return;
  batch_job_.run([config = batch_config_->config, step = micro_step_->value() - 1,
                  row = row_->value() - 1] { return read_first_batch(config, step, row); },
                 [this](const TokenText& text) {
                   batch_where_->setText(tr("%1: %2").arg(batch_config_->name, text.where));
                   batch_view_->show_text(text);
                 },
                 [this](const Error& error) {
                   batch_where_->setText(to_qt(error.what_happened()));
                   batch_view_->show_message(to_qt(error.what_to_do()));
                 });
}

void DataPage::build() {
  auto* dialog = new BuildDialog(context().preferences.data_folder(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this,
          [this, dialog] { job_->build(dialog->target(), dialog->options()); });
  dialog->open();
}

void DataPage::import() {
  auto* dialog = new ImportDialog(context().preferences.data_folder(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this,
          [this, dialog] { job_->import(dialog->target(), dialog->options()); });
  dialog->open();
}

void DataPage::add_folder() {
  const QString folder =
      QFileDialog::getExistingDirectory(this, tr("A dataset folder"), context().preferences.data_folder());
  if (!folder.isEmpty()) show_dataset(folder);
}

void DataPage::build_sample() {
  if (!job_->busy()) job_->build_sample(to_path(context().preferences.data_folder()), 2048);
}

void DataPage::job_progressed(const DataProgress& progress) {
  progress_text_->setText(progress.phase +
                          (progress.detail.isEmpty() ? QString() : QStringLiteral(" · ") + progress.detail));
  progress_bar_->setRange(0, progress.fraction < 0 ? 0 : 1000);
  if (progress.fraction >= 0) progress_bar_->setValue(static_cast<int>(progress.fraction * 1000));
}

void DataPage::job_ended(const QString& text, bool good) {
  progress_bar_->setRange(0, 1000);
  progress_bar_->setValue(good ? 1000 : 0);
  progress_text_->setText(text);
  cancel_->setEnabled(false);
}

}  // namespace lathe::ui
