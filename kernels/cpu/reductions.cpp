// The few numbers of a step: sums of losses, squared norms of gradients, and the clip factor made of both.
// All are summed in FP64 and in a fixed order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kElementsPerItem = 16384;

// Sums over `n` values; the order depends on n alone.
template <class T>
LATHE_VECTORIZED double sum_of(const T* values, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]);
  return sum;
}

template <class G>
LATHE_VECTORIZED double square_sum_of(const G* values, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(load(values[i]));
    sum += value * value;
  }
  return sum;
}

template <class W>
Kernel loss_sum(const OpBinding& op) {
  using Slot = slot::LossSum;
  const W* losses = op.dense<W>(Slot::Losses);
  const W* z_losses = op.optional_dense<W>(Slot::ZLosses);
  W* sums = op.dense<W>(Slot::Sums);
  const int64_t n = op.tensor(Slot::Losses).elements();
  const bool add = op.accumulates(Slot::Sums);
  return [=](Team&) {
    const W* inputs[2] = {losses, z_losses};
    for (int i = 0; i < 2; ++i) {
      const double sum = inputs[i] ? sum_of(inputs[i], n) : 0.0;
      sums[i] = static_cast<W>(add ? static_cast<double>(sums[i]) + sum : sum);
    }
  };
}

// A run of one parameter's elements, small enough for one item.
struct Piece {
  int64_t begin, count;
  size_t parameter;
};

template <class G>
Kernel gradient_norm(const OpBinding& op) {
  using Slot = slot::GradientNorm;
  const G* gradient = op.dense<G>(Slot::Gradient);
  const StepProgram& program = op.program();
  const int group = op.attributes().group;
  op.require(group >= 0 && static_cast<size_t>(group) < program.groups.size(), Slot::Gradient,
             "belongs to no parameter group");
  op.require(op.tensor(Slot::SquareSums).elements() >= static_cast<int64_t>(program.parameters.size()),
             Slot::SquareSums, "must have one element a parameter");
  auto* square_sums = op.dense<Wide<G>>(Slot::SquareSums);
  std::vector<Piece> pieces;
  for (const int index : program.groups[static_cast<size_t>(group)].parameters) {
    const auto position = static_cast<size_t>(index);
    const Parameter& parameter = program.parameters[position];
    op.require(parameter.offset + parameter.elements() <= op.tensor(Slot::Gradient).elements(),
               Slot::Gradient, "is smaller than its group");
    for (int64_t done = 0; done < parameter.elements(); done += kElementsPerItem) {
      pieces.push_back(
          {parameter.offset + done, std::min(kElementsPerItem, parameter.elements() - done), position});
    }
  }
  return [=](Team& team) {
    const auto count = static_cast<int64_t>(pieces.size());
    double* sums = team.shared<double>(count);
    team.for_each(count, [&](int64_t item, Worker&) {
      const Piece& piece = pieces[static_cast<size_t>(item)];
      sums[item] = square_sum_of(gradient + piece.begin, piece.count);
    });
    for (size_t i = 0; i < pieces.size();) {
      const size_t parameter = pieces[i].parameter;
      double sum = 0;
      for (; i < pieces.size() && pieces[i].parameter == parameter; ++i) sum += sums[i];
      square_sums[parameter] = static_cast<Wide<G>>(sum);
    }
  };
}

// factor = min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. A loss or norm that isn't
// finite, or a norm above the accepted one, sets Skip; with a norm that isn't finite the factor is 0.
template <class W>
Kernel clip_factor(const OpBinding& op) {
  using Slot = slot::ClipFactor;
  const W* square_sums = op.dense<W>(Slot::SquareSums);
  const W* sums = op.dense<W>(Slot::Sums);
  const W* scalars = op.dense<W>(Slot::Scalars);
  W* result = op.dense<W>(Slot::Result);
  const int64_t n = op.tensor(Slot::SquareSums).elements();
  return [=](Team&) {
    const auto scalar = [&](StepScalar which) { return scalars[static_cast<int>(which)]; };
    const W max_norm = scalar(StepScalar::MaxGradNorm), accepted = scalar(StepScalar::MaxAcceptedNorm);
    const W norm = static_cast<W>(std::sqrt(sum_of(square_sums, n)));
    const bool finite = std::isfinite(norm) && std::isfinite(sums[0]) && std::isfinite(sums[1]);
    const bool skip = !finite || (accepted > 0 && norm > accepted);
    W factor = 1;
    if (max_norm > 0) factor = std::min(W{1}, max_norm / (norm + W(1e-6)));
    if (!std::isfinite(norm)) factor = 0;
    result[static_cast<int>(ClipResult::GradNorm)] = norm;
    result[static_cast<int>(ClipResult::Factor)] = factor;
    result[static_cast<int>(ClipResult::Skip)] = skip ? W{1} : W{0};
    result[static_cast<int>(ClipResult::Reserved)] = 0;
  };
}

}  // namespace

Kernel make_loss_sum(const OpBinding& op) {
  if (op.dtype(slot::LossSum::Losses) == DType::F64) return loss_sum<double>(op);
  return loss_sum<float>(op);
}

Kernel make_gradient_norm(const OpBinding& op) {
  return with_storage(op, slot::GradientNorm::Gradient, [&]<class G>() { return gradient_norm<G>(op); });
}

Kernel make_clip_factor(const OpBinding& op) {
  if (op.dtype(slot::ClipFactor::Result) == DType::F64) return clip_factor<double>(op);
  return clip_factor<float>(op);
}

}  // namespace lathe::cpu
