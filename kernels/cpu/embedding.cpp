// Embedding: gathers rows of the table, and adds gradient rows back into it.
#include <algorithm>
#include <string>

#include "kernels/api/error.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kRowsPerItem = 64;

// A token outside the table would read or write memory that isn't its own.
void check_tokens(const int32_t* tokens, int64_t rows, int64_t vocab) {
  for (int64_t r = 0; r < rows; ++r) {
    if (tokens[r] < 0 || tokens[r] >= vocab) {
      throw Error(ErrorCode::InvalidArgument,
                  "Token " + std::to_string(tokens[r]) + " at position " + std::to_string(r) +
                      " of the batch is outside the vocabulary of " + std::to_string(vocab) + ".",
                  "Use data tokenized for this model.");
    }
  }
}

template <class S>
Kernel embedding(const OpBinding& op) {
  using Slot = slot::Embedding;
  const auto* tokens = op.dense<int32_t>(Slot::Tokens);
  const Rows<S> weight = op.rows<S>(Slot::Weight), y = op.rows<S>(Slot::Y);
  op.require(op.tensor(Slot::Tokens).elements() == y.count && weight.cols == y.cols, Slot::Y,
             "must have a row for each token");
  return [=](Team& team) {
    check_tokens(tokens, y.count, weight.count);
    team.for_ranges(y.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        std::copy_n(weight.row(tokens[r]), y.cols, y.row(r));
      }
    });
  };
}

template <class S>
LATHE_VECTORIZED void add_row(Wide<S>* sum, const S* row, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += load(row[i]);
}

template <class G>
LATHE_VECTORIZED void add_sum(G* out, const Wide<G>* sum, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) store(out[i], load(out[i]) + sum[i]);
}

template <class S, class G>
Kernel embedding_backward(const OpBinding& op) {
  using Slot = slot::EmbeddingBackward;
  const auto* tokens = op.dense<int32_t>(Slot::Tokens);
  const auto* order = op.dense<int32_t>(Slot::Order);
  const Rows<S> dy = op.rows<S>(Slot::Dy);
  const Rows<G> d_weight = op.rows<G>(Slot::DWeight);
  op.require(op.tensor(Slot::Tokens).elements() == dy.count && d_weight.cols == dy.cols, Slot::Dy,
             "must have a row for each token");
  op.require(op.tensor(Slot::Order).elements() == dy.count, Slot::Order, "must name each row once");
  return [=](Team& team) {
    check_tokens(tokens, dy.count, d_weight.count);
    check_tokens(order, dy.count, dy.count);
    // An item owns the tokens whose first row in the order lies in its range, and follows the last one's rows
    // beyond its end: each row of the table has one writer and one order of summation.
    team.for_ranges(dy.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker& worker) {
      const auto token_at = [&](int64_t i) { return tokens[order[i]]; };
      Wide<S>* sum = worker.buffer<Wide<S>>(0, dy.cols);
      int64_t i = begin;
      while (i > 0 && i < end && token_at(i) == token_at(i - 1)) ++i;
      while (i < end) {
        const int32_t token = token_at(i);
        std::fill_n(sum, dy.cols, Wide<S>{0});
        for (; i < dy.count && token_at(i) == token; ++i) add_row(sum, dy.row(order[i]), dy.cols);
        add_sum(d_weight.row(token), sum, dy.cols);
      }
    });
  };
}

}  // namespace

Kernel make_embedding(const OpBinding& op) {
  return with_storage(op, slot::Embedding::Y, [&]<class S>() { return embedding<S>(op); });
}

Kernel make_embedding_backward(const OpBinding& op) {
  return with_storage(op, slot::EmbeddingBackward::Dy, [&]<class S>() {
    return with_gradient<S>(op, slot::EmbeddingBackward::DWeight,
                            [&]<class G>() { return embedding_backward<S, G>(op); });
  });
}

}  // namespace lathe::cpu
