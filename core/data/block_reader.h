// Cuts an input file into blocks of about 1 MiB that can be worked on independently and in parallel.
//
// Text is cut at the last separator line in the block, so that documents stay whole; a document that is
// longer than a block is cut at its last line end (space, character). JSON lines are cut at line ends, a JSON
// file between the elements of its list. Where a block ends depends on the content only, never on timing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/byte_source.h"
#include "core/data/input_files.h"

namespace lathe {

struct Record {
  size_t begin = 0, size = 0;  // within Block::bytes
  int64_t number = 0;          // line or list element, from 1
  int64_t offset = 0;          // of its first byte in the (decompressed) file
};

struct Block {
  InputKind kind = InputKind::Text;
  size_t file = 0;  // index into the input files
  std::string bytes;
  int64_t offset = 0;           // of bytes[0] in the (decompressed) file
  int64_t line = 1;             // of bytes[0]
  bool continues = false;       // Text: begins inside a document of the block before
  bool ends_document = true;    // Text: its last document ends with it
  std::vector<Record> records;  // JsonLines, Json
};

struct BlockOptions {
  size_t block_bytes = size_t{1} << 20;
  size_t longest_record = size_t{1} << 28;  // a longer JSON line or element is an error, not a memory problem
  std::string separator;  // Text: a line that is exactly this separates documents; empty: none
};

// Calls `sink` for each block of the file in order; it returns false to stop. Throws what ByteSource throws,
// and CorruptFile for a JSON file that isn't a list of values (or a single one) or a record that is too long.
void read_blocks(const InputFile& file, size_t file_index, ByteSource& source, const BlockOptions& options,
                 const std::function<bool(Block&&)>& sink);

}  // namespace lathe
