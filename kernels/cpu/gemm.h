// Matrix products of any storage type: a thin layer over BLAS, and the tiling that spreads one product over a
// team.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/element.h"
#include "kernels/cpu/team.h"

namespace lathe::cpu {

// Row-major; transposed: element (i, j) of the operand stands at (j, i).
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;

  T* at(int64_t i, int64_t j) const { return transposed ? data + j * stride + i : data + i * stride + j; }
};

// c = alpha · a·b + beta · c with a [m,k], b [k,n], c [m,n] (never transposed).
inline void gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b,
                 float beta, Matrix<float> c) {
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m), static_cast<blasint>(n),
              static_cast<blasint>(k), alpha, a.data, static_cast<blasint>(a.stride), b.data,
              static_cast<blasint>(b.stride), beta, c.data, static_cast<blasint>(c.stride));
}
inline void gemm(int64_t m, int64_t n, int64_t k, double alpha, Matrix<const double> a,
                 Matrix<const double> b, double beta, Matrix<double> c) {
  cblas_dgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m), static_cast<blasint>(n),
              static_cast<blasint>(k), alpha, a.data, static_cast<blasint>(a.stride), b.data,
              static_cast<blasint>(b.stride), beta, c.data, static_cast<blasint>(c.stride));
}

template <class S>
LATHE_VECTORIZED void widen_row(const S* row, Wide<S>* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = load(row[i]);
}

// The rows [0, rows) × [0, cols) behind `data` as BLAS can read them: in place where storage is what is
// computed with, else widened into `staging` (rows · cols elements).
template <class S>
Matrix<const Wide<S>> widened(const S* data, int64_t stride, int64_t rows, int64_t cols, Wide<S>* staging) {
  if constexpr (std::is_same_v<S, Wide<S>>) {
    return {data, stride};
  } else {
    for (int64_t r = 0; r < rows; ++r) widen_row(data + r * stride, staging + r * cols, cols);
    return {staging, cols};
  }
}

}  // namespace lathe::cpu
