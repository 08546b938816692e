// Where history and runs live when nothing else is said: in the folder the user chose, else in the
// platform's. default_home() of files.h answers that.
#pragma once

#include <filesystem>

namespace lathe {

// The platform's folder for this user's data. Throws NotFound when the system names none.
std::filesystem::path platform_home();

// From the next start on default_home() is `folder`. Kept in a file of platform_home(). Throws Io or
// DiskFull.
void choose_home(const std::filesystem::path& folder);

}  // namespace lathe
