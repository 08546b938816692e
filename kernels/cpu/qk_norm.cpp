// RMSNorm over each head of q and of k, with one weight vector for all heads of q and one for those of k.
#include <algorithm>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/norm_rows.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kRowsPerItem = 32;

// One of the two sides, q or k: its heads' reciprocal deviations stand at rstd[row · rstd_stride + head].
template <class S>
struct Side {
  Heads<S> x;
  const Wide<S>* weight;
};

template <class S>
Kernel qk_norm(const OpBinding& op) {
  using Slot = slot::QkNorm;
  using W = Wide<S>;
  const Side<S> sides[2] = {{op.heads<S>(Slot::Q), op.dense<W>(Slot::QWeight)},
                            {op.heads<S>(Slot::K), op.dense<W>(Slot::KWeight)}};
  const Heads<S> outputs[2] = {op.heads<S>(Slot::YQ), op.heads<S>(Slot::YK)};
  W* rstd = op.optional_dense<W>(Slot::Rstd);
  op.require(outputs[0].rows == sides[0].x.rows && outputs[0].heads == sides[0].x.heads &&
                 outputs[0].dim == sides[0].x.dim,
             Slot::YQ, "must have q's shape");
  op.require(outputs[1].rows == sides[0].x.rows && outputs[1].heads == sides[1].x.heads &&
                 outputs[1].dim == sides[0].x.dim && sides[1].x.dim == sides[0].x.dim,
             Slot::YK, "must have k's shape");
  const int64_t rstd_stride = sides[0].x.heads + sides[1].x.heads;
  const W eps = static_cast<W>(op.attributes().eps);
  return [=](Team& team) {
    team.for_ranges(sides[0].x.rows, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t column = 0;
        for (int side = 0; side < 2; ++side) {
          const Heads<S>& x = sides[side].x;
          for (int64_t h = 0; h < x.heads; ++h, ++column) {
            const W head_rstd = row_rstd_of(x.at(r, h), x.dim, eps);
            scale_row(x.at(r, h), sides[side].weight, head_rstd, outputs[side].at(r, h), x.dim);
            if (rstd) rstd[r * rstd_stride + column] = head_rstd;
          }
        }
      }
    });
  };
}

template <class S>
Kernel qk_norm_backward(const OpBinding& op) {
  using Slot = slot::QkNormBackward;
  using W = Wide<S>;
  const Side<S> sides[2] = {{op.heads<S>(Slot::Q), op.dense<W>(Slot::QWeight)},
                            {op.heads<S>(Slot::K), op.dense<W>(Slot::KWeight)}};
  const Heads<S> gradients[2] = {op.heads<S>(Slot::DYQ), op.heads<S>(Slot::DYK)};
  W* d_weights[2] = {op.dense<W>(Slot::DQWeight), op.dense<W>(Slot::DKWeight)};
  const bool add[2] = {op.accumulates(Slot::DQWeight), op.accumulates(Slot::DKWeight)};
  const W* rstd = op.dense<W>(Slot::Rstd);
  const int64_t rows = sides[0].x.rows, dim = sides[0].x.dim;
  const int64_t rstd_stride = sides[0].x.heads + sides[1].x.heads;
  op.require(gradients[0].rows == rows && gradients[0].heads == sides[0].x.heads, Slot::DYQ,
             "must have q's shape");
  op.require(gradients[1].rows == rows && gradients[1].heads == sides[1].x.heads, Slot::DYK,
             "must have k's shape");
  op.require(op.tensor(Slot::Rstd).elements() == rows * rstd_stride, Slot::Rstd,
             "must have one element a row and head");
  return [=](Team& team) {
    const int64_t items = (rows + kRowsPerItem - 1) / kRowsPerItem;
    W* partial = team.shared<W>(2 * items * dim);  // q's sums of all items, then k's
    team.for_ranges(rows, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      int64_t column = 0;
      for (int side = 0; side < 2; ++side) {
        const Heads<S>&x = sides[side].x, &dy = gradients[side];
        W* sums = partial + (side * items + begin / kRowsPerItem) * dim;
        std::fill_n(sums, dim, W{0});
        for (int64_t r = begin; r < end; ++r) {
          for (int64_t h = 0; h < x.heads; ++h) {
            norm_backward_row(x.at(r, h), sides[side].weight, rstd[r * rstd_stride + column + h], dy.at(r, h),
                              dy.at(r, h), false, sums, dim);
          }
        }
        column += x.heads;
      }
    });
    for (int side = 0; side < 2; ++side) {
      add_partials(partial + side * items * dim, items, d_weights[side], dim, add[side]);
    }
  };
}

}  // namespace

Kernel make_qk_norm(const OpBinding& op) {
  return with_storage(op, slot::QkNorm::Q, [&]<class S>() { return qk_norm<S>(op); });
}

Kernel make_qk_norm_backward(const OpBinding& op) {
  return with_storage(op, slot::QkNormBackward::Q, [&]<class S>() { return qk_norm_backward<S>(op); });
}

}  // namespace lathe::cpu
