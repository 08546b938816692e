// What attention's forward and backward share: the strip of scores of a block of queries. A strip is
// [block, keys up to the block's last query], so memory grows with the context and never with its square.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/op_binding.h"

namespace lathe::cpu {

constexpr int64_t kQueryBlock = 64;

// Queries [query, query + rows) of one sequence and the keys [key_begin, key_end) that any of them sees.
struct Strip {
  int64_t query, rows;
  int64_t key_begin, key_end;

  int64_t keys() const { return key_end - key_begin; }
};

// `document_start`: of the sequence, [context], or null. Values are kept inside 0 … query.
inline int64_t first_key(const int32_t* document_start, int64_t query) {
  return document_start ? std::clamp<int64_t>(document_start[query], 0, query) : 0;
}

inline Strip strip_of(const int32_t* document_start, int64_t query, int64_t context) {
  Strip strip{query, std::min(kQueryBlock, context - query), query, 0};
  strip.key_end = query + strip.rows;
  for (int64_t r = 0; r < strip.rows; ++r) {
    strip.key_begin = std::min(strip.key_begin, first_key(document_start, query + r));
  }
  return strip;
}

// The columns [begin, end) of a strip's row that its query sees.
struct Seen {
  int64_t begin, end;
};
inline Seen seen_by(const Strip& strip, const int32_t* document_start, int64_t row) {
  return {first_key(document_start, strip.query + row) - strip.key_begin,
          strip.query + row + 1 - strip.key_begin};
}

// Rows [begin, begin + rows) of one head as BLAS reads them; see widened().
template <class S>
Matrix<const Wide<S>> head_rows(const Sequences<S>& x, int64_t b, int64_t h, int64_t begin, int64_t rows,
                                Wide<S>* staging) {
  return widened<S>(x.head(b, h) + begin * x.row_stride, x.row_stride, rows, x.dim, staging);
}

template <class T>
Matrix<const T> transpose(Matrix<const T> matrix) {
  matrix.transposed = !matrix.transposed;
  return matrix;
}

// Row `row` of a head's [rows, dim] panel onwards.
template <class T>
Matrix<const T> from_row(const Matrix<const T>& matrix, int64_t row) {
  return {matrix.data + row * matrix.stride, matrix.stride, matrix.transposed};
}

// out = row · factor, rounded once.
template <class S>
LATHE_VECTORIZED void store_scaled(const Wide<S>* row, Wide<S> factor, S* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) store(out[i], row[i] * factor);
}

}  // namespace lathe::cpu
