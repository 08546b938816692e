#include "core/data/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/api/error.h"
#include "kernels/api/utf8.h"

namespace lathe {

static constexpr const char* skip_advice = "Repair it, or pass --skip-invalid to leave such documents out.";

// --- text ---

static void require_utf8(const Block& block, std::string_view document, const std::string& file_name) {
  const auto bad = first_invalid_utf8(document);
  if (!bad) return;
  const auto at = static_cast<size_t>(document.data() - block.bytes.data()) + *bad;
  const auto lines = std::count(block.bytes.begin(), block.bytes.begin() + static_cast<ptrdiff_t>(at), '\n');
  throw Error(
      ErrorCode::CorruptFile,
      fmt::format("{}, line {} (byte {}): not valid UTF-8 (0x{:02X}).", file_name, block.line + lines,
                  block.offset + static_cast<int64_t>(at), static_cast<unsigned char>(block.bytes[at])),
      fmt::format("Convert the file to UTF-8 (iconv -f ENCODING -t UTF-8). {}", skip_advice));
}

// End of the document that begins at `begin` and, in `next`, where the one after it begins (npos: none).
static size_t document_end(std::string_view bytes, size_t begin, const std::string& separator, size_t& next) {
  for (size_t at = begin; !separator.empty();) {
    at = bytes.find(separator, at);
    if (at == std::string_view::npos) break;
    size_t after = at + separator.size();
    if (after < bytes.size() && bytes[after] == '\r') ++after;
    if ((at == 0 || bytes[at - 1] == '\n') && (after == bytes.size() || bytes[after] == '\n')) {
      next = std::min(after + 1, bytes.size());
      return at;
    }
    ++at;
  }
  next = std::string_view::npos;
  return bytes.size();
}

static int64_t extract_text(const Block& block, const std::string& file_name, const DocumentOptions& options,
                            const std::function<void(const DocumentPart&)>& sink) {
  const std::string_view bytes = block.bytes;
  std::string converted;
  int64_t skipped = 0;
  size_t begin = 0, next = 0;
  bool continues = block.continues;
  while (next != std::string_view::npos) {
    const size_t end = document_end(bytes, begin, options.separator, next);
    std::string_view text = bytes.substr(begin, end - begin);
    DocumentPart part{{}, {}, continues, next != std::string_view::npos || block.ends_document};
    if (!options.skip_invalid) {
      require_utf8(block, text, file_name);
    } else if (first_invalid_utf8(text)) {
      ++skipped;
      text = {};
    }
    if (text.find('\r') != std::string_view::npos) {
      converted.clear();
      for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') converted += text[i];
      }
      text = converted;
    }
    if (!part.continues) text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    if (part.ends) text = text.substr(0, text.find_last_not_of('\n') + 1);
    part.text = text;
    if (!text.empty() || (part.continues && part.ends)) sink(part);
    begin = next;
    continues = false;
  }
  return skipped;
}

// --- JSON ---

static std::string_view field_of(const nlohmann::json& record, const std::string& field,
                                 const std::string& where) {
  if (!record.is_object()) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{}: {} instead of an object.", where, record.type_name()),
                "Each record must be an object with the field, or a text.");
  }
  const auto found = record.find(field);
  if (found == record.end()) {
    std::string names;
    for (const auto& [name, value] : record.items()) {
      if (names.size() < 200) names += (names.empty() ? "" : ", ") + name;
    }
    throw Error(ErrorCode::CorruptFile, fmt::format("{}: no field \"{}\" (it has: {}).", where, field, names),
                fmt::format("Name the field that holds the text with --field. {}", skip_advice));
  }
  if (!found->is_string()) {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{}: the field \"{}\" is {}, not a text.", where, field, found->type_name()),
                fmt::format("Name the field that holds the text with --field. {}", skip_advice));
  }
  return found->get_ref<const std::string&>();
}

static void extract_record(std::string_view bytes, const std::string& where, const DocumentOptions& options,
                           const std::function<void(const DocumentPart&)>& sink) {
  nlohmann::json record;
  try {
    record = nlohmann::json::parse(bytes);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::CorruptFile, fmt::format("{}: not valid JSON ({}).", where, error.what()),
                skip_advice);
  }
  DocumentPart part;
  if (record.is_string() && options.prompt_field.empty()) {
    part.text = record.get_ref<const std::string&>();
  } else {
    part.text = field_of(record, options.field, where);
    if (!options.prompt_field.empty()) part.prompt = field_of(record, options.prompt_field, where);
  }
  if (!part.text.empty()) sink(part);
}

static int64_t extract_records(const Block& block, const std::string& file_name,
                               const DocumentOptions& options,
                               const std::function<void(const DocumentPart&)>& sink) {
  int64_t skipped = 0;
  for (const Record& record : block.records) {
    const std::string where =
        fmt::format("{}, {} {} (byte {})", file_name, block.kind == InputKind::JsonLines ? "line" : "element",
                    record.number, record.offset);
    const auto extract = [&] {
      extract_record(std::string_view(block.bytes).substr(record.begin, record.size), where, options, sink);
    };
    if (!options.skip_invalid) {
      extract();
      continue;
    }
    try {
      extract();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::CorruptFile) throw;
      ++skipped;
    }
  }
  return skipped;
}

int64_t extract_documents(const Block& block, const std::string& file_name, const DocumentOptions& options,
                          const std::function<void(const DocumentPart&)>& sink) {
  return block.kind == InputKind::Text ? extract_text(block, file_name, options, sink)
                                       : extract_records(block, file_name, options, sink);
}

}  // namespace lathe
