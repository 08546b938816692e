// Cross-entropy over the (padded) vocabulary with z-loss: loss = lse - logit[target], z = z_loss · lse², and
// d_logits = (softmax · (1 + 2·z_loss·lse) - onehot) / valid tokens of the window.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/api/error.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kRowsPerItem = 4;

template <class S>
LATHE_VECTORIZED Wide<S> largest(const S* logits, int64_t n) {
  Wide<S> maximum = load(logits[0]);
#pragma omp simd reduction(max : maximum)
  for (int64_t i = 0; i < n; ++i) maximum = maximum < load(logits[i]) ? load(logits[i]) : maximum;
  return maximum;
}

template <class S>
LATHE_VECTORIZED Wide<S> exp_sum(const S* logits, Wide<S> maximum, int64_t n) {
  Wide<S> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += fast_exp(load(logits[i]) - maximum);
  return sum;
}

template <class S>
Wide<S> log_sum_exp(const S* logits, int64_t n) {
  const Wide<S> maximum = largest(logits, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i += kSumChunk) {
    sum += static_cast<double>(exp_sum(logits + i, maximum, std::min(kSumChunk, n - i)));
  }
  return maximum + static_cast<Wide<S>>(std::log(sum));
}

// logits[i] := factor · softmax(logits)[i]; the caller corrects the target's.
template <class S>
LATHE_VECTORIZED void softmax_gradient(S* logits, Wide<S> lse, Wide<S> factor, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) store(logits[i], factor * fast_exp(load(logits[i]) - lse));
}

template <class S>
Kernel classifier_loss(const OpBinding& op) {
  using Slot = slot::ClassifierLoss;
  using W = Wide<S>;
  const Rows<S> logits = op.rows<S>(Slot::Logits);
  const auto* targets = op.dense<int32_t>(Slot::Targets);
  const W* scalars = op.dense<W>(Slot::Scalars);
  W* losses = op.dense<W>(Slot::Losses);
  W* z_losses = op.optional_dense<W>(Slot::ZLosses);
  op.require(op.tensor(Slot::Targets).elements() == logits.count, Slot::Targets, "must have one a row");
  op.require(op.tensor(Slot::Losses).elements() == logits.count, Slot::Losses, "must have one a row");
  const bool backward = op.in_place(Slot::Logits);
  const int64_t vocab = op.attributes().valid_vocab > 0 ? op.attributes().valid_vocab : logits.cols;
  op.require(vocab <= logits.cols, Slot::Logits, "must have a column for each token of the vocabulary");
  const W z_loss = static_cast<W>(op.attributes().z_loss);
  return [=](Team& team) {
    const W inv_valid = scalars[static_cast<int>(StepScalar::InvValidTokens)];
    team.for_ranges(logits.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        S* row = logits.row(r);
        const int32_t target = targets[r];
        if (target >= vocab) {
          throw Error(ErrorCode::InvalidArgument,
                      "Target " + std::to_string(target) + " at position " + std::to_string(r) +
                          " of the batch is outside the vocabulary of " + std::to_string(vocab) + ".",
                      "Use data tokenized for this model.");
        }
        if (target < 0) {
          losses[r] = 0;
          if (z_losses) z_losses[r] = 0;
          if (backward) std::fill_n(row, logits.cols, S{});
          continue;
        }
        const W lse = log_sum_exp(row, vocab), target_logit = load(row[target]);
        losses[r] = lse - target_logit;
        if (z_losses) z_losses[r] = z_loss * lse * lse;
        if (!backward) continue;
        const W factor = inv_valid * (W{1} + W{2} * z_loss * lse);
        softmax_gradient(row, lse, factor, vocab);
        store(row[target], factor * fast_exp(target_logit - lse) - inv_valid);
        std::fill(row + vocab, row + logits.cols, S{});
      }
    });
  };
}

}  // namespace

Kernel make_classifier_loss(const OpBinding& op) {
  return with_storage(op, slot::ClassifierLoss::Logits, [&]<class S>() { return classifier_loss<S>(op); });
}

}  // namespace lathe::cpu
