// Building or importing a dataset on a thread of its own, with progress and cancel.
#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <cstdint>
#include <filesystem>

#include "core/data/dataset_builder.h"
#include "core/data/dataset_import.h"
#include "ui/latest_job.h"

namespace lathe::ui {

// The sample text is too small to learn more tokens than this from.
inline constexpr int64_t kLargestSampleVocab = 8192;

struct DataProgress {
  QString phase;        // "Encoding"
  double fraction = 0;  // of this phase; negative: unknown
  QString detail;       // "12.1 MiB of 40 MiB, 3.1M tokens, 2.9M tokens/s"
};

class DataJob : public QObject {
  Q_OBJECT
 public:
  explicit DataJob(QObject* parent = nullptr);
  ~DataJob() override;  // cancels; nothing of an unfinished dataset stays

  bool busy() const { return job_.busy(); }
  void build(const std::filesystem::path& target, const BuildOptions& options);
  void import(const std::filesystem::path& target, const ImportOptions& options);
  // The sample text with a vocabulary of `vocab` under `folder`, taken as it is when it stands there already.
  void build_sample(const std::filesystem::path& folder, int64_t vocab);
  void cancel();

 Q_SIGNALS:
  void started();
  void progressed(const lathe::ui::DataProgress& progress);
  void finished(const QString& folder);
  void failed(const lathe::Error& error);  // also Cancelled
  void ended();                            // after either

 private:
  void start(const std::filesystem::path& target, std::function<void()> work);
  void report(DataProgress progress);  // from the worker
  bool watch(const BuildProgress& progress);

  std::atomic<bool> cancelled_{false};
  LatestJob job_;
};

}  // namespace lathe::ui
