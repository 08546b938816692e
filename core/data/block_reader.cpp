#include "core/data/block_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/data/json_splitter.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "kernels/api/utf8.h"

namespace lathe {

namespace {

// Reads until `bytes` holds `wanted` bytes or the file ends; false at its end.
bool fill(ByteSource& source, std::string& bytes, size_t wanted) {
  while (bytes.size() < wanted) {
    const size_t before = bytes.size();
    bytes.resize(wanted);
    const size_t got = source.read(bytes.data() + before, wanted - before);
    bytes.resize(before + got);
    if (got == 0) return false;
  }
  return true;
}

// Windows' byte order mark at the beginning of a file says nothing in UTF-8.
size_t byte_order_mark(std::string_view bytes) {
  return bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

// Where the last separator line of `text` ends (after its line end), or 0.
size_t after_last_separator(std::string_view text, const std::string& separator) {
  if (separator.empty()) return 0;
  for (size_t end = text.size();;) {
    const size_t at = text.rfind(separator, end);
    if (at == std::string_view::npos) return 0;
    size_t after = at + separator.size();
    if (after < text.size() && text[after] == '\r') ++after;
    const bool whole_line = (at == 0 || text[at - 1] == '\n') && after < text.size() && text[after] == '\n';
    if (whole_line) return after + 1;
    if (at == 0) return 0;
    end = at - 1;
  }
}

// Where a document longer than a block is cut.
size_t cut_inside_document(std::string_view text) {
  if (const size_t line_end = text.rfind('\n'); line_end != std::string_view::npos && line_end > 1) {
    return text[line_end - 1] == '\r' ? line_end - 1 : line_end;
  }
  if (const size_t space = text.rfind(' '); space != std::string_view::npos && space > 0) return space;
  const size_t character = utf8_floor(text);
  return character > 0 ? character : text.size();
}

void read_text(size_t file, ByteSource& source, const BlockOptions& options,
               const std::function<bool(Block&&)>& sink) {
  std::string rest;
  int64_t offset = 0, line = 1;
  bool continues = false;
  for (bool more = true; more;) {
    more = fill(source, rest, options.block_bytes);
    if (offset == 0) {
      const size_t mark = byte_order_mark(rest);
      rest.erase(0, mark);
      offset = static_cast<int64_t>(mark);
    }
    size_t cut = rest.size();
    bool ends_document = true;
    if (more) {
      cut = after_last_separator(rest, options.separator);
      ends_document = cut > 0;
      if (cut == 0) cut = cut_inside_document(rest);
    }
    if (cut == 0 && !continues) return;
    Block block{InputKind::Text, file, rest.substr(0, cut), offset, line, continues, ends_document, {}};
    rest.erase(0, cut);
    offset += static_cast<int64_t>(cut);
    line += std::count(block.bytes.begin(), block.bytes.end(), '\n');
    continues = !ends_document;
    if (!sink(std::move(block))) return;
  }
}

[[noreturn]] void fail_too_long(const InputFile& file, const char* what, int64_t number, size_t longest) {
  throw Error(ErrorCode::CorruptFile,
              fmt::format("{}, {} {}: longer than {}.", to_utf8(file.path), what, number,
                          bytes_text(static_cast<int64_t>(longest))),
              "Check that the file is what its name says; split very long documents.");
}

void read_json_lines(const InputFile& input, size_t file, ByteSource& source, const BlockOptions& options,
                     const std::function<bool(Block&&)>& sink) {
  std::string rest;
  int64_t offset = 0, line = 1;
  for (bool more = true; more;) {
    more = fill(source, rest, std::max(options.block_bytes, rest.size() * 2));
    size_t cut = rest.size();
    if (more) {
      const size_t line_end = rest.rfind('\n');
      if (line_end == std::string::npos) {
        if (rest.size() > options.longest_record) fail_too_long(input, "line", line, options.longest_record);
        continue;  // read on: a line longer than a block
      }
      cut = line_end + 1;
    }
    Block block{InputKind::JsonLines, file, rest.substr(0, cut), offset, line, false, true, {}};
    rest.erase(0, cut);
    const std::string_view bytes = block.bytes;
    size_t begin = offset == 0 ? byte_order_mark(bytes) : 0;
    while (begin < bytes.size()) {
      const size_t end = std::min(bytes.find('\n', begin), bytes.size());
      if (bytes.substr(begin, end - begin).find_first_not_of(" \t\r") != std::string_view::npos) {
        block.records.push_back({begin, end - begin, line, offset + static_cast<int64_t>(begin)});
      }
      begin = end + 1;
      ++line;
    }
    offset += static_cast<int64_t>(cut);
    if (!block.records.empty() && !sink(std::move(block))) return;
  }
}

void read_json(const InputFile& input, size_t file, ByteSource& source, const BlockOptions& options,
               const std::function<bool(Block&&)>& sink) {
  JsonSplitter splitter(to_utf8(input.path));
  std::string buffer(options.block_bytes, '\0');
  Block block{InputKind::Json, file, {}, 0, 1, false, true, {}};
  const auto give = [&] {
    Block full = std::exchange(block, Block{InputKind::Json, file, {}, 0, 1, false, true, {}});
    return sink(std::move(full));
  };
  while (const size_t got = source.read(buffer.data(), buffer.size())) {
    std::string_view piece(buffer.data(), got);
    while (splitter.next(piece)) {
      const std::string& value = splitter.value();
      block.records.push_back({block.bytes.size(), value.size(), splitter.number(), splitter.offset()});
      block.bytes += value;
      if (block.bytes.size() >= options.block_bytes && !give()) return;
    }
    if (splitter.value().size() > options.longest_record) {
      fail_too_long(input, "element", splitter.number() + 1, options.longest_record);
    }
  }
  if (splitter.finish()) {
    const std::string& value = splitter.value();
    block.records.push_back({block.bytes.size(), value.size(), splitter.number(), splitter.offset()});
    block.bytes += value;
  }
  if (!block.records.empty()) give();
}

}  // namespace

void read_blocks(const InputFile& input, size_t file_index, ByteSource& source, const BlockOptions& options,
                 const std::function<bool(Block&&)>& sink) {
  switch (input.kind) {
    case InputKind::Text:
      return read_text(file_index, source, options, sink);
    case InputKind::JsonLines:
      return read_json_lines(input, file_index, source, options, sink);
    case InputKind::Json:
      return read_json(input, file_index, source, options, sink);
  }
}

}  // namespace lathe
