#include "ui/pages/data_job.h"

#include <QMetaObject>
#include <utility>

#include "core/config/resources.h"
#include "core/data/dataset.h"
#include "core/platform/files.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString phase_name(BuildPhase phase) {
  switch (phase) {
    case BuildPhase::Sampling:
      return DataJob::tr("Reading a sample for the tokenizer");
    case BuildPhase::TrainingTokenizer:
      return DataJob::tr("Training the tokenizer");
    case BuildPhase::Encoding:
      return DataJob::tr("Encoding");
    case BuildPhase::Finishing:
      return DataJob::tr("Finishing");
  }
  return {};
}

}  // namespace

DataJob::DataJob(QObject* parent) : QObject(parent) {}

DataJob::~DataJob() {
  cancelled_ = true;
}

void DataJob::cancel() {
  cancelled_ = true;
}

void DataJob::report(DataProgress progress) {
  QMetaObject::invokeMethod(
      this, [this, progress = std::move(progress)] { Q_EMIT progressed(progress); }, Qt::QueuedConnection);
}

bool DataJob::watch(const BuildProgress& progress) {
  DataProgress shown{phase_name(progress.phase), -1, {}};
  if (progress.input_bytes_total > 0 && progress.phase != BuildPhase::TrainingTokenizer) {
    shown.fraction =
        static_cast<double>(progress.input_bytes_done) / static_cast<double>(progress.input_bytes_total);
    shown.detail =
        tr("%1 of %2").arg(bytes_text(progress.input_bytes_done), bytes_text(progress.input_bytes_total));
  }
  if (progress.tokens > 0) {
    shown.detail += tr(", %1 tokens").arg(short_count_text(static_cast<double>(progress.tokens)));
    if (progress.seconds > 0.5) {
      shown.detail +=
          tr(", %1 tokens/s").arg(short_count_text(static_cast<double>(progress.tokens) / progress.seconds));
    }
  }
  report(std::move(shown));
  return !cancelled_;
}

void DataJob::start(const std::filesystem::path& target, std::function<void()> work) {
  if (busy()) throw Error(ErrorCode::Busy, "A dataset is being made already.", "Wait for it, or cancel it.");
  cancelled_ = false;
  job_.run(
      [work = std::move(work)] {
        work();
        return true;
      },
      [this, folder = to_qt(target)](bool) {
        Q_EMIT finished(folder);
        Q_EMIT ended();
      },
      [this](const Error& error) {
        Q_EMIT failed(error);
        Q_EMIT ended();
      });
  Q_EMIT started();
}

void DataJob::build(const std::filesystem::path& target, const BuildOptions& options) {
  start(target, [this, target, options] {
    std::filesystem::create_directories(target.parent_path());
    build_dataset(target, options, [this](const BuildProgress& progress) { return watch(progress); });
  });
}

void DataJob::import(const std::filesystem::path& target, const ImportOptions& options) {
  start(target, [this, target, options] {
    std::filesystem::create_directories(target.parent_path());
    import_tokens(target, options, [this](int64_t done, int64_t total) {
      report({tr("Importing"), total > 0 ? static_cast<double>(done) / static_cast<double>(total) : -1,
              tr("%1 of %2").arg(bytes_text(done), bytes_text(total))});
      return !cancelled_;
    });
  });
}

void DataJob::build_sample(const std::filesystem::path& folder, int64_t vocab) {
  const std::filesystem::path target = folder / ("austen-" + std::to_string(vocab));
  start(target, [this, target, vocab] {
    if (std::filesystem::exists(target / DatasetManifest::file_name)) {
      const Dataset there(target);  // throws when it is broken
      return;
    }
    BuildOptions options;
    options.inputs = {resources_folder() / "samples" / "austen.txt.zst"};
    options.train_vocab = vocab;
    options.validation_fraction = 0.02;
    std::filesystem::create_directories(target.parent_path());
    build_dataset(target, options, [this](const BuildProgress& progress) { return watch(progress); });
  });
}

}  // namespace lathe::ui
