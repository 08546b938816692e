// The three products of a linear layer, y = x·Wᵀ (+ residual), dx = dy·W, dW (+)= dyᵀ·x, cut into tiles of
// the output by shape alone. BF16 operands are widened panel by panel into the worker's scratch; a tile is
// summed in FP32 and rounded once.
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kLargestTile = 256;
constexpr int64_t kSmallestTile = 64;
constexpr int64_t kEnoughTiles = 16;    // for the threads of a desktop processor
constexpr int64_t kStagedDepth = 1024;  // of a widened panel: at most 1 MiB

struct Tiling {
  int64_t rows, cols;
};

Tiling tiling_of(int64_t m, int64_t n) {
  Tiling tile{std::min(m, kLargestTile), std::min(n, kLargestTile)};
  const auto count = [&] { return ((m + tile.rows - 1) / tile.rows) * ((n + tile.cols - 1) / tile.cols); };
  while (count() < kEnoughTiles && std::max(tile.rows, tile.cols) > kSmallestTile) {
    int64_t& longer = tile.rows >= tile.cols ? tile.rows : tile.cols;
    longer = (longer + 1) / 2;
  }
  return tile;
}

// d = a·b + addend, [m,n] with inner dimension k; addend may be absent or d itself.
template <class S, class D>
struct Product {
  Matrix<const S> a, b;
  Rows<D> d;
  Rows<const D> addend;
  int64_t m, n, k;
};

// A panel of a or b, widened if need be, still in its own orientation.
template <class S>
Matrix<const Wide<S>> panel(const Matrix<const S>& matrix, int64_t i, int64_t j, int64_t rows, int64_t cols,
                            Wide<S>* staging) {
  Matrix<const Wide<S>> result = widened(matrix.at(i, j), matrix.stride, matrix.transposed ? cols : rows,
                                         matrix.transposed ? rows : cols, staging);
  result.transposed = matrix.transposed;
  return result;
}

template <class D>
LATHE_VECTORIZED void finish_row(const Wide<D>* sum, const D* addend, D* out, int64_t n) {
  if (addend) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) store(out[i], load(addend[i]) + sum[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) store(out[i], sum[i]);
  }
}

template <class S, class D>
void run_tile(const Product<S, D>& p, int64_t i, int64_t j, int64_t rows, int64_t cols, Worker& worker) {
  using W = Wide<S>;
  constexpr bool kStaged = !std::is_same_v<S, W>;
  constexpr bool kDirect = std::is_same_v<D, W>;  // BLAS sums into the output itself
  const int64_t depth = kStaged ? std::min(p.k, kStagedDepth) : p.k;
  W* a_staging = kStaged ? worker.buffer<W>(0, rows * depth) : nullptr;
  W* b_staging = kStaged ? worker.buffer<W>(1, depth * cols) : nullptr;
  W beta = 0;
  Matrix<W> sum;
  if constexpr (kDirect) {
    sum = {p.d.row(i) + j, p.d.stride};
    if (p.addend.data) {
      beta = 1;
      if (p.addend.data != p.d.data) {
        for (int64_t r = 0; r < rows; ++r) std::copy_n(p.addend.row(i + r) + j, cols, p.d.row(i + r) + j);
      }
    }
  } else {
    sum = {worker.buffer<W>(2, rows * cols), cols};
  }
  for (int64_t k = 0; k < p.k; k += depth) {
    const int64_t step = std::min(depth, p.k - k);
    gemm(rows, cols, step, W{1}, panel(p.a, i, k, rows, step, a_staging),
         panel(p.b, k, j, step, cols, b_staging), k == 0 ? beta : W{1}, sum);
  }
  if constexpr (!kDirect) {
    for (int64_t r = 0; r < rows; ++r) {
      finish_row<D>(sum.data + r * cols, p.addend.data ? p.addend.row(i + r) + j : nullptr,
                    p.d.row(i + r) + j, cols);
    }
  }
}

template <class S, class D>
Kernel product_kernel(const Product<S, D>& p) {
  const Tiling tile = tiling_of(p.m, p.n);
  const int64_t across = (p.n + tile.cols - 1) / tile.cols, down = (p.m + tile.rows - 1) / tile.rows;
  return [=](Team& team) {
    team.for_each(across * down, [&](int64_t item, Worker& worker) {
      const int64_t i = item / across * tile.rows, j = item % across * tile.cols;
      run_tile(p, i, j, std::min(tile.rows, p.m - i), std::min(tile.cols, p.n - j), worker);
    });
  };
}

template <class T>
Matrix<const T> plain(const Rows<T>& rows) {
  return {rows.data, rows.stride, false};
}

template <class T>
Matrix<const T> transposed(const Rows<T>& rows) {
  return {rows.data, rows.stride, true};
}

template <class T>
Rows<const T> read_only(const Rows<T>& rows) {
  return {rows.data, rows.count, rows.cols, rows.stride};
}

template <class S>
Kernel linear(const OpBinding& op) {
  using Slot = slot::Linear;
  const Rows<S> x = op.rows<S>(Slot::X), weight = op.rows<S>(Slot::Weight), y = op.rows<S>(Slot::Y);
  const Rows<S> residual = op.optional_rows<S>(Slot::Residual);
  op.require(weight.cols == x.cols, Slot::Weight, "must have the input's width");
  op.require(y.count == x.count && y.cols == weight.count, Slot::Y, "must be [rows, out]");
  if (residual.data) {
    op.require(residual.count == y.count && residual.cols == y.cols, Slot::Residual, "must be [rows, out]");
  }
  return product_kernel<S, S>(
      {plain(x), transposed(weight), y, read_only(residual), y.count, y.cols, x.cols});
}

template <class S>
Kernel linear_backward_input(const OpBinding& op) {
  using Slot = slot::LinearBackwardInput;
  const Rows<S> dy = op.rows<S>(Slot::Dy), weight = op.rows<S>(Slot::Weight), dx = op.rows<S>(Slot::Dx);
  op.require(weight.count == dy.cols, Slot::Weight, "must be [out, in]");
  op.require(dx.count == dy.count && dx.cols == weight.cols, Slot::Dx, "must be [rows, in]");
  return product_kernel<S, S>({plain(dy), plain(weight), dx, {}, dx.count, dx.cols, dy.cols});
}

template <class S, class G>
Kernel linear_backward_weight(const OpBinding& op) {
  using Slot = slot::LinearBackwardWeight;
  const Rows<S> dy = op.rows<S>(Slot::Dy), x = op.rows<S>(Slot::X);
  const Rows<G> d_weight = op.rows<G>(Slot::DWeight);
  op.require(x.count == dy.count, Slot::X, "must have the gradient's rows");
  op.require(d_weight.count == dy.cols && d_weight.cols == x.cols, Slot::DWeight, "must be [out, in]");
  const Rows<const G> addend = op.accumulates(Slot::DWeight) ? read_only(d_weight) : Rows<const G>{};
  return product_kernel<S, G>(
      {transposed(dy), plain(x), d_weight, addend, d_weight.count, d_weight.cols, x.count});
}

}  // namespace

Kernel make_linear(const OpBinding& op) {
  return with_storage(op, slot::Linear::Y, [&]<class S>() { return linear<S>(op); });
}

Kernel make_linear_backward_input(const OpBinding& op) {
  return with_storage(op, slot::LinearBackwardInput::Dx,
                      [&]<class S>() { return linear_backward_input<S>(op); });
}

Kernel make_linear_backward_weight(const OpBinding& op) {
  return with_storage(op, slot::LinearBackwardWeight::X, [&]<class S>() {
    return with_gradient<S>(op, slot::LinearBackwardWeight::DWeight,
                            [&]<class G>() { return linear_backward_weight<S, G>(op); });
  });
}

}  // namespace lathe::cpu
