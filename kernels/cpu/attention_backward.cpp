// Causal grouped-query attention, backward (Dao et al., 2022): the probabilities are computed again from q, k
// and the forward's logsumexp. One item is one key/value head of one sequence with all its query heads, so
// that dk and dv have one writer.
#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

// p = exp(score - lse), ds = p · (dp - delta) · scale, over scores and dp.
template <class W>
LATHE_VECTORIZED void score_gradients(W* scores, W* dp, W lse, W delta, W scale, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const W p = fast_exp(scores[i] - lse);
    scores[i] = p;
    dp[i] = p * (dp[i] - delta) * scale;
  }
}

template <class W>
LATHE_VECTORIZED W dot(const W* a, const W* b, int64_t n) {
  W sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class S>
struct BackwardOperands {
  Sequences<S> q, k, v, o, d_o, dq, dk, dv;
  const int32_t* document_start;
  const Wide<S>* lse;
  Wide<S> scale;
};

// Adds one query head's share to dk and dv ([context, dim] sums) and writes its dq.
template <class S>
void backward_head(const BackwardOperands<S>& x, int64_t b, int64_t h, Matrix<const Wide<S>> keys,
                   Matrix<const Wide<S>> values, Wide<S>* dk, Wide<S>* dv, Worker& worker) {
  using W = Wide<S>;
  const int64_t context = x.q.context, dim = x.q.dim;
  const int32_t* starts = x.document_start ? x.document_start + b * context : nullptr;
  const W* lse = x.lse + (b * x.q.heads + h) * context;
  // One buffer for the block's panels of q, o, dO and dq, one for the strips of p and ds.
  W* panels = worker.buffer<W>(4, 4 * kQueryBlock * dim);
  W* strips = worker.buffer<W>(5, 2 * kQueryBlock * context);
  for (int64_t query = 0; query < context; query += kQueryBlock) {
    const Strip strip = strip_of(starts, query, context);
    const int64_t width = strip.keys(), rows = strip.rows;
    const auto queries = head_rows(x.q, b, h, query, rows, panels);
    const auto outputs = head_rows(x.o, b, h, query, rows, panels + kQueryBlock * dim);
    const auto d_outputs = head_rows(x.d_o, b, h, query, rows, panels + 2 * kQueryBlock * dim);
    W* dq = panels + 3 * kQueryBlock * dim;
    const auto block_keys = from_row(keys, strip.key_begin), block_values = from_row(values, strip.key_begin);
    const Matrix<W> p{strips, width}, ds{strips + kQueryBlock * context, width};
    gemm(rows, width, dim, x.scale, queries, transpose(block_keys), W{0}, p);
    gemm(rows, width, dim, W{1}, d_outputs, transpose(block_values), W{0}, ds);
    for (int64_t r = 0; r < rows; ++r) {
      const Seen seen = seen_by(strip, starts, r);
      const W delta = dot(d_outputs.data + r * d_outputs.stride, outputs.data + r * outputs.stride, dim);
      for (W* row : {p.data + r * width, ds.data + r * width}) {
        std::fill(row, row + seen.begin, W{0});
        std::fill(row + seen.end, row + width, W{0});
      }
      score_gradients(p.data + r * width + seen.begin, ds.data + r * width + seen.begin, lse[query + r],
                      delta, x.scale, seen.end - seen.begin);
    }
    const Matrix<const W> p_transposed{p.data, width, true}, ds_transposed{ds.data, width, true};
    gemm(width, dim, rows, W{1}, p_transposed, d_outputs, W{1}, Matrix<W>{dv + strip.key_begin * dim, dim});
    gemm(width, dim, rows, W{1}, ds_transposed, queries, W{1}, Matrix<W>{dk + strip.key_begin * dim, dim});
    gemm(rows, dim, width, W{1}, Matrix<const W>{ds.data, width}, block_keys, W{0}, Matrix<W>{dq, dim});
    for (int64_t r = 0; r < rows; ++r) {
      store_scaled(dq + r * dim, W{1}, x.dq.head(b, h) + (query + r) * x.dq.row_stride, dim);
    }
  }
}

template <class S>
Kernel attention_backward(const OpBinding& op) {
  using Slot = slot::AttentionBackward;
  using W = Wide<S>;
  const BackwardOperands<S> x{op.sequences<S>(Slot::Q),
                              op.sequences<S>(Slot::K),
                              op.sequences<S>(Slot::V),
                              op.sequences<S>(Slot::O),
                              op.sequences<S>(Slot::DO),
                              op.sequences<S>(Slot::DQ),
                              op.sequences<S>(Slot::DK),
                              op.sequences<S>(Slot::DV),
                              op.optional_dense<int32_t>(Slot::DocumentStart),
                              op.dense<W>(Slot::Lse),
                              static_cast<W>(op.attributes().scale)};
  op.require(x.q.heads % x.k.heads == 0, Slot::K, "must have a divisor of q's heads");
  const int64_t context = x.q.context, dim = x.q.dim, kv_heads = x.k.heads, group = x.q.heads / kv_heads;
  return [=](Team& team) {
    team.for_each(x.q.batch * kv_heads, [&](int64_t item, Worker& worker) {
      const int64_t b = item / kv_heads, kv = item % kv_heads;
      const auto keys = head_rows(x.k, b, kv, 0, context, worker.buffer<W>(0, context * dim));
      const auto values = head_rows(x.v, b, kv, 0, context, worker.buffer<W>(1, context * dim));
      W* dk = worker.buffer<W>(2, context * dim);
      W* dv = worker.buffer<W>(3, context * dim);
      std::fill_n(dk, context * dim, W{0});
      std::fill_n(dv, context * dim, W{0});
      for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        backward_head(x, b, h, keys, values, dk, dv, worker);
      }
      for (int64_t t = 0; t < context; ++t) {
        store_scaled(dk + t * dim, W{1}, x.dk.head(b, kv) + t * x.dk.row_stride, dim);
        store_scaled(dv + t * dim, W{1}, x.dv.head(b, kv) + t * x.dv.row_stride, dim);
      }
    });
  };
}

}  // namespace

Kernel make_attention_backward(const OpBinding& op) {
  return with_storage(op, slot::AttentionBackward::Q, [&]<class S>() { return attention_backward<S>(op); });
}

}  // namespace lathe::cpu
