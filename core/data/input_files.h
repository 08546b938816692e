// Which files `lathe data build` reads: the named ones, and those of known kinds in named folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lathe {

enum class InputKind { Text, JsonLines, Json };

struct InputFile {
  std::filesystem::path path;
  InputKind kind = InputKind::Text;
  int64_t bytes = 0;  // on disk
};

// Files in the given order, those of a folder (and its subfolders; hidden ones and datasets left out) by
// name, byte by byte, so that the order is the same everywhere. Kinds: .txt .md .text, .jsonl .ndjson, .json,
// each also with .gz or .zst. Throws NotFound for a path that isn't there, InvalidArgument for a named file
// of another kind, an empty named file, or a folder without any file of these kinds.
std::vector<InputFile> list_input_files(const std::vector<std::filesystem::path>& inputs);

}  // namespace lathe
