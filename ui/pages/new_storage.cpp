#include "ui/pages/new_storage.h"

#include <QCoreApplication>
#include <QStringList>

#include "core/config/derived.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("NewPage", text);
}

}  // namespace

StorageQuestion storage_question(const RunConfig& config, const std::filesystem::path& home) {
  StorageQuestion question{home, config.data.validation, {}};
  for (const DataSource& source : config.data.sources) question.data.push_back(source.path);
  question.keeps = {config.run.checkpoint_every, config.run.keep_last, config.run.keep_every};
  return question;
}

Storage ask_storage(const StorageQuestion& question) {
  Storage storage;
  try {
    storage.free_bytes = free_disk_bytes(question.home);
  } catch (const Error&) {
    storage.free_bytes = -1;
  }
  for (const std::string& path : question.data) {
    try {
      if (file_system_traits(from_utf8(path)).is_windows_mounted) storage.on_windows.push_back(path);
    } catch (const Error&) {
      continue;  // a path that isn't there is reported at launch
    }
  }
  return storage;
}

int64_t kept_checkpoints(const RunConfig& config) {
  const int64_t updates = last_update(config).value_or(0);
  const int64_t for_good = config.run.keep_every > 0 ? updates / config.run.keep_every : 0;
  return config.run.keep_last + 1 + for_good;
}

QString storage_warning(const Storage& storage, const RunConfig& config, int64_t checkpoint_bytes) {
  QStringList warnings;
  const int64_t needed = checkpoint_bytes * kept_checkpoints(config);
  if (storage.free_bytes >= 0 && needed > storage.free_bytes) {
    warnings
        << tr("Checkpoints will take up to %1, and %2 are free on the disk of the runs: the run will pause "
              "when it is full.")
               .arg(bytes_text(needed), bytes_text(storage.free_bytes));
  }
  if (!storage.on_windows.empty()) {
    warnings
        << tr("The data in %1 is on a Windows drive, which is slow to read from here: copy it into the Linux "
              "file system.")
               .arg(to_qt(storage.on_windows.front()));
  }
  return warnings.join(QLatin1Char(' '));
}

}  // namespace lathe::ui
