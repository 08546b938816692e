#include "tests/parity/reference.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/parity/reference_frame.h"

namespace lathe::test {

namespace {

void embedding(ReferenceFrame& f) {
  using Slot = slot::Embedding;
  const int64_t cols = f.last(Slot::Y);
  for (int64_t i = 0; i < f.elements(Slot::Y); ++i) {
    f.put(Slot::Y, i, f.in(Slot::Weight, f.integer(Slot::Tokens, i / cols) * cols + i % cols));
  }
}

void embedding_backward(ReferenceFrame& f) {
  using Slot = slot::EmbeddingBackward;
  const int64_t cols = f.last(Slot::Dy);
  std::vector<double> sum(static_cast<size_t>(f.elements(Slot::DWeight)));
  for (int64_t i = 0; i < f.elements(Slot::Dy); ++i) {
    sum[static_cast<size_t>(f.integer(Slot::Tokens, i / cols) * cols + i % cols)] += f.in(Slot::Dy, i);
  }
  for (int64_t i = 0; i < f.elements(Slot::DWeight); ++i)
    f.put(Slot::DWeight, i, sum[static_cast<size_t>(i)]);
}

void rms_norm(ReferenceFrame& f) {
  using Slot = slot::RmsNorm;
  const int64_t cols = f.last(Slot::X);
  for (int64_t r = 0; r < f.elements(Slot::X) / cols; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < cols; ++c) squares += std::pow(f.in(Slot::X, r * cols + c), 2);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(cols) + f.attributes().eps);
    f.put(Slot::Rstd, r, rstd);
    for (int64_t c = 0; c < cols; ++c) {
      f.put(Slot::Y, r * cols + c, f.in(Slot::X, r * cols + c) * rstd * f.in(Slot::Weight, c));
    }
  }
}

// d(x·rstd·w)/dx applied to dy, for one row of n elements from `at` on.
std::vector<double> norm_gradient(const ReferenceFrame& f, int x, int weight, int dy, double rstd, int64_t at,
                                  int64_t n) {
  std::vector<double> gradient(static_cast<size_t>(n));
  double dot = 0;
  for (int64_t c = 0; c < n; ++c) dot += f.in(dy, at + c) * f.in(weight, c) * f.in(x, at + c);
  for (int64_t c = 0; c < n; ++c) {
    gradient[static_cast<size_t>(c)] = rstd * f.in(dy, at + c) * f.in(weight, c) -
                                       std::pow(rstd, 3) / static_cast<double>(n) * dot * f.in(x, at + c);
  }
  return gradient;
}

void rms_norm_backward(ReferenceFrame& f) {
  using Slot = slot::RmsNormBackward;
  const int64_t cols = f.last(Slot::X);
  std::vector<double> d_weight(static_cast<size_t>(cols));
  for (int64_t r = 0; r < f.elements(Slot::X) / cols; ++r) {
    const double rstd = f.in(Slot::Rstd, r);
    const auto dx = norm_gradient(f, Slot::X, Slot::Weight, Slot::Dy, rstd, r * cols, cols);
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t i = r * cols + c;
      f.put(Slot::DResidual, i, dx[static_cast<size_t>(c)]);
      d_weight[static_cast<size_t>(c)] += f.in(Slot::Dy, i) * f.in(Slot::X, i) * rstd;
      f.put(Slot::Y, i, f.in(Slot::X, i) * rstd * f.in(Slot::Weight, c));
    }
  }
  for (int64_t c = 0; c < cols; ++c) f.put(Slot::DWeight, c, d_weight[static_cast<size_t>(c)]);
}

// y[r,o] = sum over i of x[r,i] · w[o,i]
void linear(ReferenceFrame& f) {
  using Slot = slot::Linear;
  const int64_t in = f.last(Slot::X), out = f.last(Slot::Y);
  for (int64_t i = 0; i < f.elements(Slot::Y); ++i) {
    double sum = f.has(Slot::Residual) ? f.in(Slot::Residual, i) : 0;
    for (int64_t k = 0; k < in; ++k) {
      sum += f.in(Slot::X, i / out * in + k) * f.in(Slot::Weight, i % out * in + k);
    }
    f.put(Slot::Y, i, sum);
  }
}

void linear_backward_input(ReferenceFrame& f) {
  using Slot = slot::LinearBackwardInput;
  const int64_t in = f.last(Slot::Dx), out = f.last(Slot::Dy);
  for (int64_t i = 0; i < f.elements(Slot::Dx); ++i) {
    double sum = 0;
    for (int64_t o = 0; o < out; ++o) {
      sum += f.in(Slot::Dy, i / in * out + o) * f.in(Slot::Weight, o * in + i % in);
    }
    f.put(Slot::Dx, i, sum);
  }
}

void linear_backward_weight(ReferenceFrame& f) {
  using Slot = slot::LinearBackwardWeight;
  const int64_t in = f.last(Slot::X), out = f.last(Slot::Dy), rows = f.elements(Slot::X) / in;
  for (int64_t i = 0; i < out * in; ++i) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      sum += f.in(Slot::Dy, r * out + i / in) * f.in(Slot::X, r * in + i % in);
    }
    f.put(Slot::DWeight, i, sum);
  }
}

struct QkSide {
  int x, weight, y;
};

void qk_norm(ReferenceFrame& f) {
  using Slot = slot::QkNorm;
  const int64_t all_heads = f.dim(Slot::Q, 1) + f.dim(Slot::K, 1);
  int64_t column = 0;
  for (const QkSide side :
       {QkSide{Slot::Q, Slot::QWeight, Slot::YQ}, QkSide{Slot::K, Slot::KWeight, Slot::YK}}) {
    const int64_t heads = f.dim(side.x, 1), dim = f.last(side.x);
    for (int64_t head = 0; head < f.elements(side.x) / dim; ++head) {
      double squares = 0;
      for (int64_t c = 0; c < dim; ++c) squares += std::pow(f.in(side.x, head * dim + c), 2);
      const double rstd = 1 / std::sqrt(squares / static_cast<double>(dim) + f.attributes().eps);
      f.put(Slot::Rstd, head / heads * all_heads + column + head % heads, rstd);
      for (int64_t c = 0; c < dim; ++c) {
        f.put(side.y, head * dim + c, f.in(side.x, head * dim + c) * rstd * f.in(side.weight, c));
      }
    }
    column += heads;
  }
}

void qk_norm_backward(ReferenceFrame& f) {
  using Slot = slot::QkNormBackward;
  const int64_t all_heads = f.dim(Slot::Q, 1) + f.dim(Slot::K, 1);
  int64_t column = 0;
  for (const QkSide side :
       {QkSide{Slot::Q, Slot::QWeight, Slot::DYQ}, QkSide{Slot::K, Slot::KWeight, Slot::DYK}}) {
    const int64_t heads = f.dim(side.x, 1), dim = f.last(side.x);
    std::vector<double> d_weight(static_cast<size_t>(dim));
    for (int64_t head = 0; head < f.elements(side.x) / dim; ++head) {
      const double rstd = f.in(Slot::Rstd, head / heads * all_heads + column + head % heads);
      const auto dx = norm_gradient(f, side.x, side.weight, side.y, rstd, head * dim, dim);
      for (int64_t c = 0; c < dim; ++c) {
        d_weight[static_cast<size_t>(c)] +=
            f.in(side.y, head * dim + c) * f.in(side.x, head * dim + c) * rstd;
        f.put(side.y, head * dim + c, dx[static_cast<size_t>(c)]);
      }
    }
    const int out = side.x == Slot::Q ? +Slot::DQWeight : +Slot::DKWeight;
    for (int64_t c = 0; c < dim; ++c) f.put(out, c, d_weight[static_cast<size_t>(c)]);
    column += heads;
  }
}

void rope(ReferenceFrame& f, double direction) {
  using Slot = slot::Rope;
  for (const int x : {+Slot::Q, +Slot::K}) {
    const int64_t dim = f.last(x), half = dim / 2, heads = f.dim(x, f.tensor(x).shape.rank - 2);
    for (int64_t head = 0; head < f.elements(x) / dim; ++head) {
      const int64_t row = head / heads;
      const int64_t position =
          f.has(Slot::Position) ? f.integer(Slot::Position, 0) + row : row % f.attributes().context;
      for (int64_t c = 0; c < half; ++c) {
        const double cosine = f.in(Slot::Table, position * dim + c);
        const double sine = direction * f.in(Slot::Table, position * dim + half + c);
        const double a = f.in(x, head * dim + c), b = f.in(x, head * dim + half + c);
        f.put(x, head * dim + c, a * cosine - b * sine);
        f.put(x, head * dim + half + c, a * sine + b * cosine);
      }
    }
  }
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}

void swiglu(ReferenceFrame& f) {
  using Slot = slot::SwiGlu;
  const int64_t ffn = f.last(Slot::Y);
  for (int64_t i = 0; i < f.elements(Slot::Y); ++i) {
    const int64_t gate = i / ffn * 2 * ffn + i % ffn;
    f.put(Slot::Y, i, silu(f.in(Slot::GateUp, gate)) * f.in(Slot::GateUp, gate + ffn));
  }
}

void swiglu_backward(ReferenceFrame& f) {
  using Slot = slot::SwiGluBackward;
  const int64_t ffn = f.last(Slot::Dy);
  for (int64_t i = 0; i < f.elements(Slot::Dy); ++i) {
    const int64_t gate = i / ffn * 2 * ffn + i % ffn, up = gate + ffn;
    const double g = f.in(Slot::GateUp, gate), u = f.in(Slot::GateUp, up), dy = f.in(Slot::Dy, i);
    const double s = 1 / (1 + std::exp(-g));
    f.put(Slot::GateUp, gate, dy * u * (s + g * s * (1 - s)));
    f.put(Slot::GateUp, up, dy * silu(g));
    f.put(Slot::Y, i, silu(g) * u);
  }
}

void classifier_loss(ReferenceFrame& f) {
  using Slot = slot::ClassifierLoss;
  const int64_t padded = f.last(Slot::Logits), vocab = f.attributes().valid_vocab;
  const double z_loss = f.attributes().z_loss;
  const double inv_valid = f.in(Slot::Scalars, static_cast<int>(StepScalar::InvValidTokens));
  for (int64_t r = 0; r < f.elements(Slot::Logits) / padded; ++r) {
    const int64_t target = f.integer(Slot::Targets, r), at = r * padded;
    double maximum = f.in(Slot::Logits, at), sum = 0;
    for (int64_t c = 0; c < vocab; ++c) maximum = std::max(maximum, f.in(Slot::Logits, at + c));
    for (int64_t c = 0; c < vocab; ++c) sum += std::exp(f.in(Slot::Logits, at + c) - maximum);
    const double lse = maximum + std::log(sum);
    const bool counted = target >= 0;
    f.put(Slot::Losses, r, counted ? lse - f.in(Slot::Logits, at + target) : 0);
    f.put(Slot::ZLosses, r, counted ? z_loss * lse * lse : 0);
    if (f.access(Slot::Logits) != Access::InPlace) continue;
    for (int64_t c = 0; c < padded; ++c) {
      double gradient = 0;
      if (counted && c < vocab) {
        const double softmax = std::exp(f.in(Slot::Logits, at + c) - lse);
        gradient = inv_valid * (softmax - (c == target ? 1 : 0) + 2 * z_loss * lse * softmax);
      }
      f.put(Slot::Logits, at + c, gradient);
    }
  }
}

void loss_sum(ReferenceFrame& f) {
  using Slot = slot::LossSum;
  int out = 0;
  for (const int losses : {+Slot::Losses, +Slot::ZLosses}) {
    double sum = 0;
    for (int64_t i = 0; f.has(losses) && i < f.elements(losses); ++i) sum += f.in(losses, i);
    f.put(Slot::Sums, out++, sum);
  }
}

void gradient_norm(ReferenceFrame& f) {
  using Slot = slot::GradientNorm;
  for (const int p : f.program().groups[static_cast<size_t>(f.attributes().group)].parameters) {
    const Parameter& parameter = f.program().parameters[static_cast<size_t>(p)];
    double sum = 0;
    for (int64_t i = 0; i < parameter.elements(); ++i) {
      sum += std::pow(f.in(Slot::Gradient, parameter.offset + i), 2);
    }
    f.set(Slot::SquareSums, p, sum);
  }
}

void clip_factor(ReferenceFrame& f) {
  using Slot = slot::ClipFactor;
  double squares = 0;
  for (int64_t i = 0; i < f.elements(Slot::SquareSums); ++i) squares += f.in(Slot::SquareSums, i);
  const double norm = std::sqrt(squares);
  const double max_norm = f.in(Slot::Scalars, static_cast<int>(StepScalar::MaxGradNorm));
  const double accepted = f.in(Slot::Scalars, static_cast<int>(StepScalar::MaxAcceptedNorm));
  const bool finite =
      std::isfinite(norm) && std::isfinite(f.in(Slot::Sums, 0)) && std::isfinite(f.in(Slot::Sums, 1));
  double factor = max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1;
  if (!std::isfinite(norm)) factor = 0;
  f.put(Slot::Result, static_cast<int>(ClipResult::GradNorm), norm);
  f.put(Slot::Result, static_cast<int>(ClipResult::Factor), factor);
  f.put(Slot::Result, static_cast<int>(ClipResult::Skip), !finite || (accepted > 0 && norm > accepted));
  f.put(Slot::Result, static_cast<int>(ClipResult::Reserved), 0);
}

void kv_store(ReferenceFrame& f) {
  using Slot = slot::KvStore;
  const int64_t row = f.last(Slot::K) * f.dim(Slot::K, 1), start = f.integer(Slot::Position, 0) * row;
  for (int64_t i = 0; i < f.elements(Slot::K); ++i) {
    f.set(Slot::CacheK, start + i, f.in(Slot::K, i));
    f.set(Slot::CacheV, start + i, f.in(Slot::V, i));
  }
}

void gather_row(ReferenceFrame& f) {
  using Slot = slot::GatherRow;
  const int64_t cols = f.last(Slot::Y);
  for (int64_t c = 0; c < cols; ++c) f.put(Slot::Y, c, f.in(Slot::X, f.integer(Slot::Index, 0) * cols + c));
}

}  // namespace

void reference_op(const StepProgram& program, const Op& op, Values& values) {
  ReferenceFrame f(program, op, values);
  switch (op.kind) {
    case OpKind::Fill:
      for (int64_t i = 0; i < f.elements(slot::Fill::Out); ++i) f.put(slot::Fill::Out, i, 0);
      return;
    case OpKind::Embedding:
      return embedding(f);
    case OpKind::EmbeddingBackward:
      return embedding_backward(f);
    case OpKind::RmsNorm:
      return rms_norm(f);
    case OpKind::RmsNormBackward:
      return rms_norm_backward(f);
    case OpKind::Linear:
      return linear(f);
    case OpKind::LinearBackwardInput:
      return linear_backward_input(f);
    case OpKind::LinearBackwardWeight:
      return linear_backward_weight(f);
    case OpKind::QkNorm:
      return qk_norm(f);
    case OpKind::QkNormBackward:
      return qk_norm_backward(f);
    case OpKind::Rope:
      return rope(f, 1);
    case OpKind::RopeBackward:
      return rope(f, -1);
    case OpKind::Attention:
      return reference_attention(f);
    case OpKind::AttentionBackward:
      return reference_attention_backward(f);
    case OpKind::SwiGlu:
      return swiglu(f);
    case OpKind::SwiGluBackward:
      return swiglu_backward(f);
    case OpKind::ClassifierLoss:
      return classifier_loss(f);
    case OpKind::LossSum:
      return loss_sum(f);
    case OpKind::GradientNorm:
      return gradient_norm(f);
    case OpKind::ClipFactor:
      return clip_factor(f);
    case OpKind::AdamW:
      return reference_adamw(f);
    case OpKind::KvStore:
      return kv_store(f);
    case OpKind::AttentionDecode:
      return reference_attention_decode(f);
    case OpKind::GatherRow:
      return gather_row(f);
  }
  throw std::logic_error("op kind without a reference");
}

}  // namespace lathe::test
