// What the window calls the states and parts of a run.
#pragma once

#include <QString>
#include <optional>

#include "core/history/run_types.h"

namespace lathe::ui {

QString status_text(RunStatus status);  // "running", "interrupted", …
QString level_text(EventLevel level);
// "a1b2 · tiny, first try": the name, and the id where names repeat.
QString run_title(const RunSummary& run);
// "—" for nothing.
QString optional_text(const std::optional<double>& value, int decimals);
QString optional_bytes(const std::optional<int64_t>& bytes);
// Of a setting: "Model · Layers"; the key itself where this build doesn't know it.
QString setting_label(const std::string& key);
// Where memory_process comes from, in words.
QString memory_source_text(const std::string& source);

}  // namespace lathe::ui
