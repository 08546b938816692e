// RunConfig: every setting of a run as plain data, one nested struct a section, generated from settings.def.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/types.h"

namespace lathe {

// A default-constructed RunConfig holds the defaults (the 977m model). Sections are config.model,
// .attention, .data, .batch, .precision, .memory, .optimizer, .loss, .schedule, .guard and .run; their
// types are RunConfig::Model and so on. What each field means stands in settings.def.
struct RunConfig {
#define LATHE_SECTION(section, Type, label) struct Type {
#define LATHE_SETTING(section, field, type, default_value, ...) type field = default_value;
#define LATHE_SECTION_END(section, Type)        \
  bool operator==(const Type&) const = default; \
  }                                             \
  section;
#include "core/config/settings.def"

  bool operator==(const RunConfig&) const = default;
};

}  // namespace lathe
