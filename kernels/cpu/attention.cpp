// Causal grouped-query attention, forward: o = softmax(scale · q·kᵀ)·v over the keys each query sees, and the
// natural logarithm of each softmax's denominator. One item is one head of one sequence.
#include "kernels/cpu/attention_rows.h"

#include <cmath>

#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

template <class W>
LATHE_VECTORIZED W largest(const W* scores, int64_t n) {
  W maximum = scores[0];
#pragma omp simd reduction(max : maximum)
  for (int64_t i = 0; i < n; ++i) maximum = maximum < scores[i] ? scores[i] : maximum;
  return maximum;
}

// Turns scores into exp(score - maximum); returns their sum.
template <class W>
LATHE_VECTORIZED W exponentiate(W* scores, W maximum, int64_t n) {
  W sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    scores[i] = fast_exp(scores[i] - maximum);
    sum += scores[i];
  }
  return sum;
}

// Both for a whole row: the softmax's numerators in place, its maximum and denominator.
template <class W>
struct RowSum {
  W maximum, sum;
};
template <class W>
RowSum<W> softmax_numerators(W* scores, int64_t n) {
  const W maximum = largest(scores, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i += kSumChunk) {
    sum += static_cast<double>(exponentiate(scores + i, maximum, std::min(kSumChunk, n - i)));
  }
  return {maximum, static_cast<W>(sum)};
}

template <class S>
Kernel attention(const OpBinding& op) {
  using Slot = slot::Attention;
  using W = Wide<S>;
  const Sequences<S> q = op.sequences<S>(Slot::Q), k = op.sequences<S>(Slot::K), v = op.sequences<S>(Slot::V);
  const Sequences<S> o = op.sequences<S>(Slot::O);
  const auto* document_start = op.optional_dense<int32_t>(Slot::DocumentStart);
  W* lse = op.dense<W>(Slot::Lse);
  op.require(q.heads % k.heads == 0, Slot::K, "must have a divisor of q's heads");
  op.require(k.batch == q.batch && k.context == q.context && k.dim == q.dim, Slot::K, "must match q");
  op.require(v.batch == q.batch && v.context == q.context && v.dim == q.dim && v.heads == k.heads, Slot::V,
             "must match k");
  op.require(op.tensor(Slot::Lse).elements() == q.batch * q.heads * q.context, Slot::Lse,
             "must be [batch, heads, context]");
  const W scale = static_cast<W>(op.attributes().scale);
  const int64_t context = q.context, dim = q.dim, group = q.heads / k.heads;
  return [=](Team& team) {
    team.for_each(q.batch * q.heads, [&](int64_t item, Worker& worker) {
      const int64_t b = item / q.heads, h = item % q.heads;
      const int32_t* starts = document_start ? document_start + b * context : nullptr;
      const auto keys = head_rows(k, b, h / group, 0, context, worker.buffer<W>(0, context * dim));
      const auto values = head_rows(v, b, h / group, 0, context, worker.buffer<W>(1, context * dim));
      W* scores = worker.buffer<W>(2, kQueryBlock * context);
      W* sums = worker.buffer<W>(3, kQueryBlock * dim);
      W factors[kQueryBlock];
      for (int64_t query = 0; query < context; query += kQueryBlock) {
        const Strip strip = strip_of(starts, query, context);
        const int64_t width = strip.keys();
        const auto queries = head_rows(q, b, h, query, strip.rows, worker.buffer<W>(4, kQueryBlock * dim));
        gemm(strip.rows, width, dim, scale, queries, transpose(from_row(keys, strip.key_begin)), W{0},
             Matrix<W>{scores, width});
        for (int64_t r = 0; r < strip.rows; ++r) {
          W* row = scores + r * width;
          const Seen seen = seen_by(strip, starts, r);
          std::fill(row, row + seen.begin, W{0});
          const RowSum<W> softmax = softmax_numerators(row + seen.begin, seen.end - seen.begin);
          std::fill(row + seen.end, row + width, W{0});
          lse[(b * q.heads + h) * context + query + r] = softmax.maximum + std::log(softmax.sum);
          factors[r] = W{1} / softmax.sum;
        }
        gemm(strip.rows, dim, width, W{1}, Matrix<const W>{scores, width}, from_row(values, strip.key_begin),
             W{0}, Matrix<W>{sums, dim});
        for (int64_t r = 0; r < strip.rows; ++r) {
          store_scaled(sums + r * dim, factors[r], o.head(b, h) + (query + r) * o.row_stride, dim);
        }
      }
    });
  };
}

}  // namespace

Kernel make_attention(const OpBinding& op) {
  return with_storage(op, slot::Attention::O, [&]<class S>() { return attention<S>(op); });
}

}  // namespace lathe::cpu
