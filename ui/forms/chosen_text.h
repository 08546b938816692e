// What Lathe makes of a setting that is left to it: "auto", or a 0 that stands for something else.
#pragma once

#include <QString>
#include <string_view>

namespace lathe {
struct RunConfig;
}

namespace lathe::ui {

struct Assessment;

// "4,096" of a loss chunk on auto, "16" of key/value heads 0; empty for a setting that says itself what it
// is, or while it isn't known. `config` must be valid for an estimate; `assessment` may be null or of older
// settings.
QString chosen_text(std::string_view key, const RunConfig& config, const Assessment* assessment);

}  // namespace lathe::ui
