#include "core/history/sample_runs.h"

#include <algorithm>

#include "core/history/foreign_log.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"

namespace lathe {

std::vector<std::string> import_sample_runs(HistoryStore& store, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> logs;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::filesystem::path extension = entry.path().extension();
    if (extension == ".csv" || extension == ".jsonl") logs.push_back(entry.path());
  }
  std::ranges::sort(logs);
  std::vector<std::string> ids;
  for (const std::filesystem::path& log : logs) {
    const ForeignTable table = read_foreign_log(log, guess_foreign_format(log));
    ForeignRun run{to_utf8(log.stem()), to_utf8(log.filename()), {}, {"sample"}};
    std::filesystem::path notes = log;
    notes.replace_extension(".txt");
    if (std::filesystem::exists(notes)) run.notes = read_file(notes);
    ids.push_back(import_foreign_log(store, table, suggest_mapping(table), run));
  }
  return ids;
}

}  // namespace lathe
