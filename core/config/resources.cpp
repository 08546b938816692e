#include "core/config/resources.h"

#include <fmt/core.h>

#include <cstdlib>
#include <vector>

#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

fs::path resources_folder() {
  std::vector<fs::path> places;
  if (const char* given = std::getenv("LATHE_RESOURCES"); given != nullptr && *given != '\0') {
    places.push_back(from_utf8(given));  // a person's word is final: no other place is looked at
  } else {
    const fs::path program = executable_folder();
    places = {program / "resources", program.parent_path() / "share" / "lathe",
              from_utf8(LATHE_SOURCE_RESOURCES)};
  }
  std::string looked_at;
  for (const fs::path& place : places) {
    std::error_code ignored;
    if (fs::is_directory(place / "presets", ignored)) return place;
    looked_at += (looked_at.empty() ? "" : ", ") + to_utf8(place);
  }
  throw Error(ErrorCode::NotFound, fmt::format("Lathe's resources were not found; looked at {}.", looked_at),
              "Set LATHE_RESOURCES to the folder that holds presets/, or install Lathe again.");
}

}  // namespace lathe
