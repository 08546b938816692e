// One row of a batch out of a token stream: the shift, the loss mask and the document boundaries, for
// training and validation alike.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/batch.h"
#include "core/data/dataset.h"

namespace lathe {

// Sets all arrays to rows * context elements. Allocates only when they grow.
void resize_batch(Batch& batch, int64_t rows, int64_t context);

// Fills row `row` with the window that begins at `begin`: `targets` targets (at most context), the rest
// padding (token 0, target -1, a document of its own). `mask` is scratch. Adds to batch.valid_tokens.
void fill_row(const Dataset& dataset, Split split, int64_t begin, int64_t targets, int64_t row,
              int64_t context, std::vector<uint8_t>& mask, Batch& batch);

}  // namespace lathe
