// One micro-batch as the trainer uploads it.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

// All three arrays are [rows * context], row-major. The target shift is applied here and nowhere else.
struct Batch {
  std::vector<int32_t> tokens;
  // targets[i] is the token after tokens[i], or -1 where the loss mask (or padding of a last validation
  // batch) says that this position doesn't count. At the end of a document (its EOS) the target is the first
  // token of the next document, as usual when documents are packed.
  std::vector<int32_t> targets;
  // Index within the row (0 … context-1) of the first position of i's document; 0 when it began before the
  // row.
  std::vector<int32_t> document_start;
  int64_t valid_tokens = 0;  // number of targets that aren't -1
};

}  // namespace lathe
