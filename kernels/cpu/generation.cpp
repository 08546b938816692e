// What only generation needs: filling the key/value cache, one query against it, and picking one row.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/api/error.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

void check_position(int64_t position, int64_t limit) {
  if (position >= 0 && position < limit) return;
  throw Error(ErrorCode::InvalidArgument,
              "Position " + std::to_string(position) + " is outside the " + std::to_string(limit) +
                  " positions there are.",
              "Generate fewer tokens, or shorten the prompt.");
}

template <class S>
Kernel kv_store(const OpBinding& op) {
  using Slot = slot::KvStore;
  const Heads<S> sources[2] = {op.heads<S>(Slot::K), op.heads<S>(Slot::V)};
  const Heads<S> caches[2] = {op.heads<S>(Slot::CacheK), op.heads<S>(Slot::CacheV)};
  const auto* position = op.dense<int32_t>(Slot::Position);
  for (const int slot : {+Slot::CacheK, +Slot::CacheV}) {
    const int which = slot == Slot::CacheK ? 0 : 1;
    op.require(caches[which].heads == sources[which].heads && caches[which].dim == sources[which].dim, slot,
               "must have the heads of what is stored");
  }
  return [=](Team&) {
    const int64_t start = *position;
    check_position(start, caches[0].rows);
    check_position(start + sources[0].rows - 1, caches[0].rows);
    for (int side = 0; side < 2; ++side) {
      const Heads<S>&source = sources[side], &cache = caches[side];
      for (int64_t r = 0; r < source.rows; ++r) {
        for (int64_t h = 0; h < source.heads; ++h) {
          std::copy_n(source.at(r, h), source.dim, cache.at(start + r, h));
        }
      }
    }
  };
}

template <class S>
LATHE_VECTORIZED Wide<S> dot(const S* a, const S* b, int64_t n) {
  Wide<S> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += load(a[i]) * load(b[i]);
  return sum;
}

template <class S>
LATHE_VECTORIZED void add_scaled(Wide<S>* sum, Wide<S> factor, const S* row, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * load(row[i]);
}

template <class S>
Kernel attention_decode(const OpBinding& op) {
  using Slot = slot::AttentionDecode;
  using W = Wide<S>;
  const Heads<S> q = op.heads<S>(Slot::Q), o = op.heads<S>(Slot::O);
  const Heads<S> keys = op.heads<S>(Slot::CacheK), values = op.heads<S>(Slot::CacheV);
  const auto* position = op.dense<int32_t>(Slot::Position);
  op.require(q.rows == 1 && o.rows == 1, Slot::Q, "must be one row");
  op.require(o.heads == q.heads && o.dim == q.dim, Slot::O, "must have q's heads");
  op.require(q.heads % keys.heads == 0 && keys.dim == q.dim && values.dim == q.dim, Slot::CacheK,
             "must have a divisor of q's heads");
  const W scale = static_cast<W>(op.attributes().scale);
  const int64_t group = q.heads / keys.heads;
  return [=](Team& team) {
    check_position(*position, keys.rows);
    const int64_t seen = *position + 1;
    team.for_each(q.heads, [&](int64_t h, Worker& worker) {
      W* scores = worker.buffer<W>(0, seen);
      W* sum = worker.buffer<W>(1, q.dim);
      for (int64_t t = 0; t < seen; ++t) scores[t] = scale * dot(q.at(0, h), keys.at(t, h / group), q.dim);
      const W maximum = *std::max_element(scores, scores + seen);
      W denominator = 0;
      std::fill_n(sum, q.dim, W{0});
      for (int64_t t = 0; t < seen; ++t) {
        const W p = std::exp(scores[t] - maximum);
        denominator += p;
        add_scaled(sum, p, values.at(t, h / group), q.dim);
      }
      for (int64_t i = 0; i < q.dim; ++i) store(o.at(0, h)[i], sum[i] / denominator);
    });
  };
}

template <class S>
Kernel gather_row(const OpBinding& op) {
  using Slot = slot::GatherRow;
  const Rows<S> x = op.rows<S>(Slot::X), y = op.rows<S>(Slot::Y);
  const auto* index = op.dense<int32_t>(Slot::Index);
  op.require(y.count == 1 && y.cols == x.cols, Slot::Y, "must be one row of the input");
  return [=](Team&) {
    check_position(*index, x.count);
    std::copy_n(x.row(*index), x.cols, y.data);
  };
}

}  // namespace

Kernel make_kv_store(const OpBinding& op) {
  return with_storage(op, slot::KvStore::K, [&]<class S>() { return kv_store<S>(op); });
}

Kernel make_attention_decode(const OpBinding& op) {
  return with_storage(op, slot::AttentionDecode::O, [&]<class S>() { return attention_decode<S>(op); });
}

Kernel make_gather_row(const OpBinding& op) {
  return with_storage(op, slot::GatherRow::Y, [&]<class S>() { return gather_row<S>(op); });
}

}  // namespace lathe::cpu
