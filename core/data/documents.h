// Takes the documents out of a block: splits text at separator lines, parses JSON records, checks UTF-8.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/data/block_reader.h"

namespace lathe {

struct DocumentOptions {
  std::string field = "text";  // of a JSON object: the document
  std::string prompt_field;    // not empty: a text before the document whose tokens don't count in the loss
  std::string separator;       // as in BlockOptions
  bool skip_invalid = false;   // leave out documents that can't be read, instead of stopping
};

// A document, or the part of one that a block holds.
struct DocumentPart {
  std::string_view prompt;  // valid until the next part
  std::string_view text;
  bool continues = false;  // a former part began it
  bool ends = true;        // no later part follows
};

// Calls `sink` for each part in order. Text: line ends around a document are dropped, "\r\n" becomes "\n",
// empty documents are left out. JSON: the field's text as it stands. Throws CorruptFile with file, line (or
// element) and byte for invalid UTF-8, broken JSON, a missing or non-text field. Returns how many documents
// were skipped.
int64_t extract_documents(const Block& block, const std::string& file_name, const DocumentOptions& options,
                          const std::function<void(const DocumentPart&)>& sink);

}  // namespace lathe
