#include "ui/pages/checkpoint_check.h"

#include <QCoreApplication>

#include "core/train/checkpoint.h"
#include "ui/latest_job.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("lathe::ui::CheckpointChecks", text);
}

// Changes when any of the files was written again.
std::string files_text(const std::filesystem::path& folder, const CheckpointManifest& manifest) {
  std::string text;
  for (const CheckpointFile& file : manifest.files) {
    const auto written = std::filesystem::last_write_time(folder / file.name).time_since_epoch().count();
    text += file.name + ' ' + file.hash + ' ' + std::to_string(written) + '\n';
  }
  return text;
}

CheckpointVerdict bad(bool every_byte) {
  return {false, every_byte, to_qt(std::string_view(as_error(std::current_exception()).what()))};
}

}  // namespace

CheckpointVerdict CheckpointChecks::look(const std::filesystem::path& folder) const {
  try {
    const CheckpointManifest manifest = read_manifest(folder);  // and the sizes
    const std::string files = files_text(folder, manifest);
    const std::scoped_lock lock(shared_->mutex);
    const auto found = shared_->known.find(folder);
    if (found != shared_->known.end() && found->second.files == files) return found->second.verdict;
    return {true, false, tr("Manifest and sizes are right. Verify reads every byte.")};
  } catch (...) {
    return bad(false);
  }
}

CheckpointVerdict CheckpointChecks::verify(const std::filesystem::path& folder) {
  try {
    const CheckpointVerdict before = look(folder);
    if (before.every_byte || !before.good) return before;
    const CheckpointManifest manifest = read_manifest(folder);
    const std::string files = files_text(folder, manifest);
    CheckpointVerdict verdict;
    try {
      verify_checkpoint(folder, manifest);
      verdict = {true, true, tr("All %1 files are as they were written.").arg(manifest.files.size())};
    } catch (...) {
      verdict = bad(true);
    }
    const std::scoped_lock lock(shared_->mutex);
    shared_->known[folder] = {files, verdict};
    return verdict;
  } catch (...) {
    return bad(true);
  }
}

}  // namespace lathe::ui
