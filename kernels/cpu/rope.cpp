// Rotary position embedding (Su et al., 2021) by split halves: (x1, x2) turns by the position's angle, where
// x1 and x2 are the halves of a head. Backward turns the other way.
#include <string>

#include "kernels/api/error.h"
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kRowsPerItem = 64;

template <class S>
LATHE_VECTORIZED void rotate(S* first, S* second, const Wide<S>* cosines, const Wide<S>* sines, Wide<S> sign,
                             int64_t half) {
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const Wide<S> a = load(first[i]), b = load(second[i]), sine = sign * sines[i];
    store(first[i], a * cosines[i] - b * sine);
    store(second[i], b * cosines[i] + a * sine);
  }
}

template <class S>
Kernel rope(const OpBinding& op, int direction) {
  using Slot = slot::Rope;
  using W = Wide<S>;
  const Heads<S> sides[2] = {op.heads<S>(Slot::Q), op.heads<S>(Slot::K)};
  const Rows<W> table = op.rows<W>(Slot::Table);
  const auto* position = op.optional_dense<int32_t>(Slot::Position);
  const int64_t rows = sides[0].rows, half = sides[0].dim / 2, context = op.attributes().context;
  op.require(sides[0].dim % 2 == 0 && table.cols == sides[0].dim, Slot::Table, "must be [context, head_dim]");
  op.require(sides[1].rows == rows && sides[1].dim == sides[0].dim, Slot::K,
             "must have q's rows and head_dim");
  op.require(position || (context > 0 && context <= table.count), Slot::Table, "must have a row a position");
  const W sign = static_cast<W>(direction);
  return [=](Team& team) {
    const int64_t start = position ? *position : 0;
    if (position && (start < 0 || start + rows > table.count)) {
      throw Error(ErrorCode::InvalidArgument,
                  "Position " + std::to_string(start + rows - 1) + " is beyond the context of " +
                      std::to_string(table.count) + " positions.",
                  "Generate fewer tokens.");
    }
    team.for_ranges(rows, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        const W* cosines = table.row(position ? start + r : r % context);
        for (const Heads<S>& x : sides) {
          for (int64_t h = 0; h < x.heads; ++h) {
            S* head = x.at(r, h);
            rotate(head, head + half, cosines, cosines + half, sign, half);
          }
        }
      }
    });
  };
}

}  // namespace

Kernel make_rope(const OpBinding& op) {
  return with_storage(op, slot::Rope::Q, [&]<class S>() { return rope<S>(op, 1); });
}

Kernel make_rope_backward(const OpBinding& op) {
  return with_storage(op, slot::Rope::Q, [&]<class S>() { return rope<S>(op, -1); });
}

}  // namespace lathe::cpu
