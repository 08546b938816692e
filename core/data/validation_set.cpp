#include "core/data/validation_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/data/window.h"
#include "kernels/api/error.h"

namespace lathe {

ValidationSet::ValidationSet(std::string name, std::shared_ptr<const Dataset> dataset, int64_t context,
                             int64_t max_tokens, Split split)
    : name_(std::move(name)), dataset_(std::move(dataset)), context_(context), split_(split) {
  if (context < 1) throw Error(ErrorCode::InvalidArgument, fmt::format("A context of {} tokens.", context));
  const int64_t tokens = dataset_->tokens(split_);
  if (tokens < 2) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("The dataset {} has no {} tokens.", name_, split_name(split_)),
                "Build it with --validation-fraction above 0, or name another dataset in data.validation.");
  }
  windows_ = (tokens - 1) / context_;
  if (max_tokens > 0) windows_ = std::min(windows_, max_tokens / context_);
  windows_ = std::max<int64_t>(windows_, 1);
}

void ValidationSet::fill(int64_t first_window, int64_t rows, Batch& batch) const {
  resize_batch(batch, rows, context_);
  std::vector<uint8_t> mask;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t window = first_window + row;
    const int64_t begin = window < windows_ ? window * context_ : 0;
    const int64_t targets = window < windows_ ? std::min(context_, dataset_->tokens(split_) - 1 - begin) : 0;
    fill_row(*dataset_, split_, begin, targets, row, context_, mask, batch);
  }
}

}  // namespace lathe
