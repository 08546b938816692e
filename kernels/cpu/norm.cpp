// RMSNorm (Zhang & Sennrich, 2019) over rows: y = x · rstd · weight with rstd = 1/sqrt(mean(x²) + eps).
#include <algorithm>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/norm_rows.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kRowsPerItem = 32;

template <class S>
Kernel rms_norm(const OpBinding& op) {
  using Slot = slot::RmsNorm;
  using W = Wide<S>;
  const Rows<S> x = op.rows<S>(Slot::X), y = op.rows<S>(Slot::Y);
  const W* weight = op.dense<W>(Slot::Weight);
  W* rstd = op.optional_dense<W>(Slot::Rstd);
  op.require(x.count == y.count && x.cols == y.cols, Slot::Y, "must have the input's shape");
  op.require(op.tensor(Slot::Weight).elements() == x.cols, Slot::Weight, "must have one element a column");
  const W eps = static_cast<W>(op.attributes().eps);
  return [=](Team& team) {
    team.for_ranges(x.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        const W row_rstd = row_rstd_of(x.row(r), x.cols, eps);
        scale_row(x.row(r), weight, row_rstd, y.row(r), x.cols);
        if (rstd) rstd[r] = row_rstd;
      }
    });
  };
}

template <class S>
Kernel rms_norm_backward(const OpBinding& op) {
  using Slot = slot::RmsNormBackward;
  using W = Wide<S>;
  const Rows<S> x = op.rows<S>(Slot::X), dy = op.rows<S>(Slot::Dy), dx = op.rows<S>(Slot::DResidual);
  const Rows<S> y = op.optional_rows<S>(Slot::Y);
  const W* weight = op.dense<W>(Slot::Weight);
  const W* rstd = op.dense<W>(Slot::Rstd);
  W* d_weight = op.dense<W>(Slot::DWeight);
  op.require(dy.count == x.count && dy.cols == x.cols, Slot::Dy, "must have the input's shape");
  op.require(dx.count == x.count && dx.cols == x.cols, Slot::DResidual, "must have the input's shape");
  op.require(op.tensor(Slot::Rstd).elements() == x.count, Slot::Rstd, "must have one element a row");
  const bool add_residual = op.accumulates(Slot::DResidual), add_weight = op.accumulates(Slot::DWeight);
  return [=](Team& team) {
    // Each item sums the weight gradient of its rows; the items' sums are then added in order.
    const int64_t items = (x.count + kRowsPerItem - 1) / kRowsPerItem;
    W* partial = team.shared<W>(items * x.cols);
    team.for_ranges(x.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      W* sums = partial + begin / kRowsPerItem * x.cols;
      std::fill_n(sums, x.cols, W{0});
      for (int64_t r = begin; r < end; ++r) {
        if (y.data) scale_row(x.row(r), weight, rstd[r], y.row(r), x.cols);
        norm_backward_row(x.row(r), weight, rstd[r], dy.row(r), dx.row(r), add_residual, sums, x.cols);
      }
    });
    add_partials(partial, items, d_weight, x.cols, add_weight);
  };
}

}  // namespace

Kernel make_rms_norm(const OpBinding& op) {
  return with_storage(op, slot::RmsNorm::X, [&]<class S>() { return rms_norm<S>(op); });
}

Kernel make_rms_norm_backward(const OpBinding& op) {
  return with_storage(op, slot::RmsNormBackward::X, [&]<class S>() { return rms_norm_backward<S>(op); });
}

}  // namespace lathe::cpu
