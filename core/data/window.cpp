#include "core/data/window.h"

#include <algorithm>

namespace lathe {

void resize_batch(Batch& batch, int64_t rows, int64_t context) {
  const auto size = static_cast<size_t>(rows * context);
  batch.tokens.resize(size);
  batch.targets.resize(size);
  batch.document_start.resize(size);
  batch.valid_tokens = 0;
}

// Walks the index from the document that holds `begin`; most windows hold a handful of documents.
static void fill_document_start(const Dataset& dataset, Split split, int64_t begin, std::span<int32_t> out) {
  const auto count = static_cast<int64_t>(out.size());
  int64_t document = dataset.document_at(split, begin);
  int64_t at = 0, start = 0;
  while (at < count) {
    ++document;
    const int64_t next =
        document < dataset.documents(split) ? dataset.document_begin(split, document) - begin : count;
    const int64_t end = std::clamp(next, at, count);
    std::fill(out.begin() + at, out.begin() + end, static_cast<int32_t>(start));
    at = start = end;
  }
}

void fill_row(const Dataset& dataset, Split split, int64_t begin, int64_t targets, int64_t row,
              int64_t context, std::vector<uint8_t>& mask, Batch& batch) {
  const auto first = static_cast<size_t>(row * context);
  const auto count = static_cast<size_t>(targets);
  const std::span tokens = std::span(batch.tokens).subspan(first, static_cast<size_t>(context));
  const std::span shifted = std::span(batch.targets).subspan(first, static_cast<size_t>(context));
  const std::span starts = std::span(batch.document_start).subspan(first, static_cast<size_t>(context));

  dataset.read(split, begin, tokens.first(count));
  dataset.read(split, begin + 1, shifted.first(count));
  if (count > 0) fill_document_start(dataset, split, begin, starts.first(count));
  int64_t valid = targets;
  if (dataset.has_loss_mask(split)) {
    mask.resize(count);
    dataset.read_loss_mask(split, begin + 1, mask);
    for (size_t i = 0; i < count; ++i) {
      if (!mask[i]) shifted[i] = -1;
      valid -= !mask[i];
    }
  }
  std::fill(tokens.begin() + targets, tokens.end(), 0);
  std::fill(shifted.begin() + targets, shifted.end(), -1);
  std::fill(starts.begin() + targets, starts.end(), static_cast<int32_t>(targets));
  batch.valid_tokens += valid;
}

}  // namespace lathe
