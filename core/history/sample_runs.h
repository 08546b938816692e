// Runs that come with Lathe, so that there is something to look at before the first run of one's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe {

class HistoryStore;

// Imports every log in `folder` (.csv, .jsonl; the file's name is the run's name, and a .txt beside it its
// notes) as a finished run tagged "sample". A folder that isn't there holds none. Returns the new ids.
// Errors: as read_foreign_log and import_foreign_log.
std::vector<std::string> import_sample_runs(HistoryStore& store, const std::filesystem::path& folder);

}  // namespace lathe
