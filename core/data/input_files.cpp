#include "core/data/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/data/byte_source.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

static std::optional<InputKind> kind_of(const fs::path& path) {
  const fs::path plain = compression_of(path).empty() ? path : path.stem();
  std::string extension = to_utf8(plain.extension());
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (extension == ".txt" || extension == ".md" || extension == ".text") return InputKind::Text;
  if (extension == ".jsonl" || extension == ".ndjson") return InputKind::JsonLines;
  if (extension == ".json") return InputKind::Json;
  return std::nullopt;
}

static constexpr const char* kinds_text = ".txt, .md, .jsonl or .json, each also with .gz or .zst";

static void add_folder(const fs::path& folder, std::vector<InputFile>& files) {
  std::vector<fs::path> found;
  try {
    for (auto entry =
             fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (to_utf8(entry->path().filename()).starts_with(".")) {
        if (entry->is_directory()) entry.disable_recursion_pending();
        continue;
      }
      // A dataset built into the folder of its own text isn't text.
      if (fs::exists(entry->path() / "manifest.json") && fs::exists(entry->path() / "train.idx")) {
        entry.disable_recursion_pending();
        continue;
      }
      if (entry.depth() > 64) entry.disable_recursion_pending();  // a link to a folder above
      if (entry->is_regular_file() && kind_of(entry->path())) found.push_back(entry->path());
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::Io, fmt::format("Could not list {}: {}.", to_utf8(folder), error.code().message()),
                "Check its permissions.");
  }
  if (found.empty()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("The folder {} holds no text.", to_utf8(folder)),
                fmt::format("Put files in it that end in {}.", kinds_text));
  }
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return to_utf8(a) < to_utf8(b); });
  for (const fs::path& path : found) {
    files.push_back({path, *kind_of(path), static_cast<int64_t>(fs::file_size(path))});
  }
}

std::vector<InputFile> list_input_files(const std::vector<fs::path>& inputs) {
  std::vector<InputFile> files;
  for (const fs::path& path : inputs) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      throw Error(ErrorCode::NotFound, fmt::format("The input {} doesn't exist.", to_utf8(path)),
                  "Check the path.");
    }
    if (fs::is_directory(status)) {
      add_folder(path, files);
      continue;
    }
    const std::optional<InputKind> kind = kind_of(path);
    if (!kind) {
      throw Error(ErrorCode::InvalidArgument, fmt::format("{} is of no known kind.", to_utf8(path)),
                  fmt::format("Inputs end in {}.", kinds_text));
    }
    const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
    if (error) throw Error(ErrorCode::Io, fmt::format("{}: {}.", to_utf8(path), error.message()));
    if (bytes == 0) {
      throw Error(ErrorCode::InvalidArgument, fmt::format("The input {} is empty.", to_utf8(path)),
                  "Name a file with text in it, or leave this one out.");
    }
    files.push_back({path, *kind, bytes});
  }
  if (files.empty()) {
    throw Error(ErrorCode::InvalidArgument, "No input was given.", "Name files or folders with --input.");
  }
  return files;
}

}  // namespace lathe
