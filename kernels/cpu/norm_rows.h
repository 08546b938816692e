// RMSNorm of one row of n elements, shared by the norm over channels and the norm over heads.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cpu/element.h"

namespace lathe::cpu {

// 1/sqrt(mean(x²) + eps)
template <class S>
LATHE_VECTORIZED Wide<S> row_rstd_of(const S* x, int64_t n, Wide<S> eps) {
  Wide<S> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += load(x[i]) * load(x[i]);
  return Wide<S>{1} / std::sqrt(sum / static_cast<Wide<S>>(n) + eps);
}

// y = x · rstd · weight, rounded once. Forward and backward call this, so a y emitted again has the same
// bits.
template <class S>
LATHE_VECTORIZED void scale_row(const S* x, const Wide<S>* weight, Wide<S> rstd, S* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) store(y[i], load(x[i]) * rstd * weight[i]);
}

// With x̂ = x·rstd and g = dy·weight: dx = rstd · (g - x̂ · mean(g·x̂)), d_weight += dy · x̂. dx is stored, or
// added to what is there and rounded once; it may be dy's own row.
template <class S>
LATHE_VECTORIZED void norm_backward_row(const S* x, const Wide<S>* weight, Wide<S> rstd, const S* dy, S* dx,
                                        bool add, Wide<S>* d_weight, int64_t n) {
  Wide<S> dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t i = 0; i < n; ++i) {
    const Wide<S> x_hat = load(x[i]) * rstd;
    dot += load(dy[i]) * weight[i] * x_hat;
    d_weight[i] += load(dy[i]) * x_hat;
  }
  const Wide<S> mean = dot / static_cast<Wide<S>>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const Wide<S> gradient = rstd * (load(dy[i]) * weight[i] - load(x[i]) * rstd * mean);
    store(dx[i], add ? load(dx[i]) + gradient : gradient);
  }
}

// sums[i] += row[i]
template <class W>
LATHE_VECTORIZED void add_to_sums(W* sums, const W* row, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sums[i] += row[i];
}

// out (+)= sum over `items` of partial[item][0 … n), in order; partial[0] is used up.
template <class W>
void add_partials(W* partial, int64_t items, W* out, int64_t n, bool add) {
  for (int64_t item = 1; item < items; ++item) add_to_sums(partial, partial + item * n, n);
  for (int64_t i = 0; i < n; ++i) out[i] = add ? out[i] + partial[i] : partial[i];
}

}  // namespace lathe::cpu
