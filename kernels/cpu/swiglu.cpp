// SwiGLU (Shazeer, 2020): y = silu(gate) · up with silu(x) = x / (1 + e^-x).
#include "kernels/cpu/kernels.h"

namespace lathe::cpu {

namespace {

constexpr int64_t kRowsPerItem = 16;

// Forward and backward share it, so a y emitted again has the same bits.
template <class W>
LATHE_HOST_DEVICE W sigmoid(W x) {
  return W{1} / (W{1} + fast_exp(-x));
}

template <class S>
LATHE_VECTORIZED void swiglu_row(const S* gate, const S* up, S* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const Wide<S> g = load(gate[i]);
    store(y[i], g * sigmoid(g) * load(up[i]));
  }
}

// d_up = dy · silu(g), d_gate = dy · up · σ(g) · (1 + g · (1 - σ(g))), each over its own input.
template <class S>
LATHE_VECTORIZED void swiglu_backward_row(S* gate, S* up, const S* dy, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const Wide<S> g = load(gate[i]), u = load(up[i]), d = load(dy[i]);
    const Wide<S> s = sigmoid(g);
    store(gate[i], d * u * s * (Wide<S>{1} + g * (Wide<S>{1} - s)));
    store(up[i], d * g * s);
  }
}

template <class S>
Kernel swiglu(const OpBinding& op) {
  using Slot = slot::SwiGlu;
  const Rows<S> gate_up = op.rows<S>(Slot::GateUp), y = op.rows<S>(Slot::Y);
  op.require(gate_up.count == y.count && gate_up.cols == 2 * y.cols, Slot::Y,
             "must be half the input's width");
  return [=](Team& team) {
    team.for_ranges(y.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        swiglu_row(gate_up.row(r), gate_up.row(r) + y.cols, y.row(r), y.cols);
      }
    });
  };
}

template <class S>
Kernel swiglu_backward(const OpBinding& op) {
  using Slot = slot::SwiGluBackward;
  const Rows<S> gate_up = op.rows<S>(Slot::GateUp), dy = op.rows<S>(Slot::Dy);
  const Rows<S> y = op.optional_rows<S>(Slot::Y);
  op.require(gate_up.count == dy.count && gate_up.cols == 2 * dy.cols, Slot::Dy,
             "must be half the input's width");
  return [=](Team& team) {
    team.for_ranges(dy.count, kRowsPerItem, [&](int64_t begin, int64_t end, Worker&) {
      for (int64_t r = begin; r < end; ++r) {
        S* gate = gate_up.row(r);
        S* up = gate + dy.cols;
        if (y.data) swiglu_row(gate, up, y.row(r), dy.cols);
        swiglu_backward_row(gate, up, dy.row(r), dy.cols);
      }
    });
  };
}

}  // namespace

Kernel make_swiglu(const OpBinding& op) {
  return with_storage(op, slot::SwiGlu::Y, [&]<class S>() { return swiglu<S>(op); });
}

Kernel make_swiglu_backward(const OpBinding& op) {
  return with_storage(op, slot::SwiGluBackward::Dy, [&]<class S>() { return swiglu_backward<S>(op); });
}

}  // namespace lathe::cpu
