// The figures that follow from the settings, above the form: from the settings alone where they can be, from
// the estimate where they must.
#pragma once

#include <vector>

#include "ui/forms/fact_grid.h"

namespace lathe {
struct RunConfig;
}

namespace lathe::ui {

struct Assessment;

// `config` must be valid for an estimate. `assessment` may be null or of older settings: then what depends on
// it is left blank. `free_disk_bytes` of the folder of runs; negative: unknown.
std::vector<Fact> derived_facts(const RunConfig& config, const Assessment* assessment, qint64 free_disk_bytes,
                                double tokens_per_s);

}  // namespace lathe::ui
