// Where Lathe's own files (presets, help, samples) lie.
#pragma once

#include <filesystem>

namespace lathe {

// The resources folder: LATHE_RESOURCES, else resources/ beside the executable, else share/lathe of the
// installation the executable is in, else the source tree this was built from. Throws NotFound naming the
// places looked at.
std::filesystem::path resources_folder();

}  // namespace lathe
